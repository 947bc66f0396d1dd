"""Tables of docs/scale.md: the rate of many machines, computed from measurements on one."""

from math import ceil

MACHINES = (1, 8, 100, 1000)
CORES = 8  # per machine
DOLLARS = {"on demand": 0.04, "spot": 0.012}  # per core-hour, assumed
PUTS_PER_S = 3500  # documented minimum per second and prefix of S3
PUT_DOLLARS = 0.005 / 1000
LINK_BYTES_PER_S = 10e9 / 8  # to a private object store, assumed
MILLION = 1_000_000


def tables(scaling: dict, writer: dict) -> dict[str, str]:
    return {
        "MEASURED": _measured(scaling),
        "MACHINES": _machines(scaling),
        "BREAKS": _breaks(scaling, writer),
        "assumed.cores": str(CORES),
        "assumed.on_demand": f"{DOLLARS['on demand']:g}",
        "assumed.spot": f"{DOLLARS['spot']:g}",
        "assumed.puts": f"{PUTS_PER_S:,}",
        "assumed.gbit": f"{LINK_BYTES_PER_S * 8 / 1e9:g}",
    }


def _measured(scaling: dict) -> str:
    lines = ["| | workers | trajectories/s, total | of the limit | once started | of the limit |", "|---" * 6 + "|"]
    for workers in (1, 2):
        lines.append(f"| the engine alone (limit) | {workers} | {scaling[f'limit_{workers}']:.1f} | 1 | | |")
        for name, label in (("local", "`--executor local`"), ("ray", "`--executor ray`"), ("store", "into a store")):
            key = f"{name}_{workers}"
            if key in scaling:
                lines.append(
                    f"| {label} | {workers} | {scaling[key]:.1f} | {scaling[f'{key}_share']:.2f} "
                    f"| {scaling[f'{key}_started']:.1f} | {scaling[f'{key}_started_share']:.2f} |"
                )
    return "\n".join(lines)


def _per_core(scaling: dict) -> float:
    """Trajectories per second and core on Ray, with every core of a machine busy."""
    return scaling["ray_2_started"] / 2


def _machines(scaling: dict) -> str:
    lines = [
        "| machines | cores | trajectories/s | a million takes | MB/s | PUT/s | on demand, $ | spot, $ |",
        "|---" * 8 + "|",
    ]
    shards = ceil(MILLION / scaling["shard_episodes"])
    shard_s = scaling["shard_episodes"] / _per_core(scaling)
    objects = scaling["files_per_shard"] + 1
    for machines in MACHINES:
        cores = machines * CORES
        seconds = scaling["start_s_ray"] + ceil(shards / cores) * shard_s
        rate = MILLION / seconds
        megabytes = rate * scaling["bytes_per_trajectory"] / 1e6
        dollars = [seconds * cores / 3600 * price + shards * objects * PUT_DOLLARS for price in DOLLARS.values()]
        lines.append(
            f"| {machines:,} | {cores:,} | {rate:,.0f} | {_time(seconds)} | {megabytes:,.0f} "
            f"| {rate / scaling['shard_episodes'] * objects:,.0f} | {dollars[0]:,.2f} | {dollars[1]:,.2f} |"
        )
    return "\n".join(lines)


def _breaks(scaling: dict, writer: dict) -> str:
    """The number of machines that reaches each limit, the smallest first."""
    rate = _per_core(scaling) * CORES  # a machine
    shards, objects = rate / scaling["shard_episodes"], scaling["files_per_shard"] + 1
    frames = MILLION * scaling["frames_per_trajectory"]
    limits = {
        "start-up takes as long as a million trajectories": MILLION / rate / scaling["start_s_ray"],
        "fetching and exporting a million trajectories for LeRobot on one machine takes as long as making them": MILLION
        / rate
        / (frames / writer["export_frames_per_s"]),
        f"the driver cannot commit more into a folder ({scaling['commits_per_s_folder']:,.0f} shards/s)": scaling[
            "commits_per_s_folder"
        ]
        / shards,
        f"the driver cannot receive more results on Ray ({scaling['driver_results_per_s_ray']:,} per s)": scaling[
            "driver_results_per_s_ray"
        ]
        / shards,
        f"{PUTS_PER_S:,} PUT/s for one prefix are reached": PUTS_PER_S / (shards * objects),
        f"the network link of {LINK_BYTES_PER_S * 8 / 1e9:g} Gbit/s to the store is full": LINK_BYTES_PER_S
        / (rate * scaling["bytes_per_trajectory"]),
    }
    lines = ["| machines | limit |", "|---|---|"]
    lines += [
        f"| {max(1, round(machines)):,} | {limit} |"
        for limit, machines in sorted(limits.items(), key=lambda row: row[1])
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
