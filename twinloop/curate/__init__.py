"""Episodes -> Verdicts: plausible? successful? well covered?"""
