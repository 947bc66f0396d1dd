"""Exported scenes."""
