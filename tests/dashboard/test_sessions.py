import json

from twinloop.dashboard.sessions import overall_rate, read_sessions

LINE = {"started": "2026-01-01T00:00:00Z", "seconds": 4.0, "episodes": 80, "workers": 2, "timeline": [[2, 40], [4, 80]]}


def test_sessions_are_read_in_order_and_half_a_line_is_not(tmp_path):
    second = {**LINE, "seconds": 6.0, "episodes": 20}
    text = "\n".join([json.dumps(LINE), "nonsense", '{"started": 1}', json.dumps(second), json.dumps(LINE)[:30]])
    (tmp_path / "runs.jsonl").write_text(text)
    sessions = read_sessions(tmp_path)
    assert [session.episodes for session in sessions] == [80, 20]
    assert sessions[0].trajectories_per_second == 20
    assert overall_rate(sessions) == 10


def test_no_log_is_no_session(tmp_path):
    assert read_sessions(tmp_path) == ()
    assert overall_rate(()) is None
