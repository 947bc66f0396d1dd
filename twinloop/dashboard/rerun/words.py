"""A page of text about the episode: verdict, draw and measured checks."""

import rerun as rr

from twinloop.curate.checks import CHECKS
from twinloop.curate.verdict import current_verdict
from twinloop.dashboard.formatting import number
from twinloop.dashboard.labels import meaning, with_unit
from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.stored_episode import StoredEpisode

EPISODE = "episode"
CHECK = "check/"


def log_words(log: RerunLog, episode: StoredEpisode) -> None:
    log.static(EPISODE, rr.TextDocument(page_of(episode), media_type=rr.MediaType.MARKDOWN))


def page_of(episode: StoredEpisode) -> str:
    columns, header = episode.columns, episode.dataset.header
    verdict = current_verdict(columns.get("verdict", "unknown"))
    lines = [
        f"# {columns.get('task', 'episode')}",
        "",
        f"Episode {episode.episode_index} of {header.name}: attempt {episode.attempt} of run seed {header.run_seed}.",
        "",
        f"- verdict: **{verdict}**, success: {'yes' if columns.get('success') else 'no'}",
        f"- {episode.length} frames at {header.fps:g} a second, {episode.time_s[-1]:.2f} s",
        f"- ended in phase {columns.get('last_phase') or 'unknown'}, after {columns.get('retries', 0)} retries",
        f"- robot {header.robot}, config {header.config_digest[:12]}, {header.engine}",
    ]
    if episode.note:
        lines += ["", f"Without the 3-D twin: {episode.note}"]
    lines += ["", "## Drawn", "", "| parameter | value | what it changes |", "|---|---|---|"]
    lines += [
        f"| {column} | {with_unit(number(value), column)} | {meaning(column)} |"
        for column, value in episode.drawn.items()
    ] or ["| nothing varies | | |"]
    stored = {
        current_verdict(name.removeprefix(CHECK)): value for name, value in columns.items() if name.startswith(CHECK)
    }
    measured = {check: stored.get(check.name) for check in CHECKS}
    lines += ["", "## Measured", "", "| check | question | value | unit |", "|---|---|---|---|"]
    lines += [
        f"| {check.name} | {check.asks} | {number(value)} | {check.unit} |"
        for check, value in measured.items()
        if value is not None
    ]
    return "\n".join(lines) + "\n"
