"""The page's style. Colours after Okabe and Ito, which stay apart for colour-blind readers; joints after viridis."""

_LIGHT = {
    "page": "#f6f7f9", "card": "#ffffff", "edge": "#dfe3e8", "text": "#1b2430", "soft": "#5b6675",
    "grid": "#e8ebef", "blue": "#0072b2", "orange": "#d55e00", "green": "#00795a", "wash": "#e9f2f9",
    "p0": "#56b4e9", "p1": "#e69f00", "p2": "#009e73", "p3": "#f0d942", "p4": "#0072b2", "p5": "#d55e00",
    "p6": "#cc79a7", "p7": "#8a94a0",
    "j0": "#440154", "j1": "#46327e", "j2": "#365c8d", "j3": "#277f8e", "j4": "#1fa187", "j5": "#4ab53f",
    "j6": "#9fb400",
}  # fmt: skip
_DARK = {
    "page": "#12161c", "card": "#1a2028", "edge": "#2d3540", "text": "#e6eaf0", "soft": "#9aa6b5",
    "grid": "#29313b", "blue": "#4aa8e0", "orange": "#f28444", "green": "#35c09a", "wash": "#1b2b38",
    "p0": "#56b4e9", "p1": "#e69f00", "p2": "#19b88a", "p3": "#f0e442", "p4": "#3a8fd0", "p5": "#e8703a",
    "p6": "#cc79a7", "p7": "#98a3b0",
    "j0": "#8f6fd0", "j1": "#6f86d6", "j2": "#4a9ed0", "j3": "#35b5b0", "j4": "#45cf8a", "j5": "#98dc50",
    "j6": "#fde725",
}  # fmt: skip


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


def _numbered() -> str:
    phases = [f"rect.p{n}{{fill:var(--p{n})}}polyline.p{n}{{stroke:var(--p{n})}}" for n in range(8)]
    joints = [f".j{n}{{stroke:var(--j{n})}}i.j{n}{{background:var(--j{n})}}" for n in range(7)]
    signals = ("blue", "orange", "green", "soft")
    others = [f".s{n}{{stroke:var(--{signals[n % 4]})}}i.s{n}{{background:var(--{signals[n % 4]})}}" for n in range(7)]
    return "".join((*phases, *joints, *others))


STYLE = (
    (
        ":root{color-scheme:light dark;" + _variables(_LIGHT) + "}"
        "@media (prefers-color-scheme: dark){:root{" + _variables(_DARK) + "}}" + _numbered()
    )
    + """
*{box-sizing:border-box}
html{scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--text);
 font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1160px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:19px;margin:40px 0 8px;padding-top:6px}
h3.sub{margin:18px 0 8px}h3{font-size:14px;margin:0 0 2px;overflow-wrap:anywhere}
p{margin:4px 0 12px;max-width:82ch}
.soft,.card p,figcaption{color:var(--soft)}
.card p{font-size:13px;margin:4px 0 0}.below{margin-top:14px}
.lead{color:var(--soft);margin:0}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:16px 0 18px;padding-bottom:12px;
 border-bottom:1px solid var(--edge)}
a{color:var(--blue);text-decoration:none}a:hover{text-decoration:underline}
.pill{display:inline-block;padding:1px 10px;border-radius:99px;font-size:13px;border:1px solid currentColor;
 vertical-align:middle;margin-left:8px;font-weight:500;white-space:nowrap}
.pill.done{color:var(--green)}.pill.part{color:var(--orange)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,140px),1fr));gap:12px}
.tile,.card,.note{background:var(--card);border:1px solid var(--edge);border-radius:10px}
.tile{padding:12px 14px}
.tile b{display:block;font-size:22px;white-space:nowrap;line-height:1.25;font-weight:650;
 font-variant-numeric:tabular-nums}
.tile b.mono{font-size:16px;line-height:1.72}
.tile span{font-size:13px;color:var(--soft);display:block;overflow-wrap:anywhere}
.note{padding:12px 18px;margin-top:14px;border-left:4px solid var(--blue)}
.note ul{margin:4px 0 0;padding-left:18px}.note li{margin:3px 0}
.cards{display:grid;gap:14px;grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--least,420px)),1fr))}
.cards.small{--least:235px}.cards.medium{--least:330px}.cards.pair{--least:215px}
.card{padding:14px 16px;min-width:0}
.card.call{border-color:var(--orange)}
.card svg{margin-top:8px}h3.next{margin-top:18px}
svg{display:block;width:100%;height:auto;max-width:620px;margin-inline:auto}
svg text{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .name{font-size:12px}
svg .label{fill:var(--text);font-size:12.5px}svg .phase{font-size:10.5px;fill:var(--text)}
.grid{stroke:var(--grid);fill:none}.base{stroke:var(--soft);opacity:.6;fill:none}
.plain{fill:var(--blue)}.good{fill:var(--green)}.bad{fill:var(--orange)}
.line{fill:none;stroke:var(--blue);stroke-width:2;stroke-linejoin:round}.area{fill:var(--blue);opacity:.12}
.line.second{stroke:var(--orange)}.dot{fill:transparent}i.line{background:var(--blue)}i.second{background:var(--orange)}
.rule{stroke:var(--soft);stroke-dasharray:3 3;fill:none}
.overall{stroke:var(--soft);stroke-dasharray:5 4;fill:none;stroke-width:1.2}
.even path{stroke:var(--blue);fill:none;stroke-width:1.6}.even circle{fill:var(--blue)}
.low path{stroke:var(--orange);fill:none;stroke-width:1.6}.low circle{fill:var(--orange)}
.whisker{stroke:var(--text);stroke-width:2;fill:none}
video{width:100%;height:auto;border-radius:6px;margin-top:8px;background:var(--grid)}
.track{fill:var(--grid)}.cell{fill:var(--blue)}.empty{fill:none;stroke:var(--orange);stroke-width:1.2}
.band{opacity:.13}.head{opacity:.45}
.trace{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}polyline[class*=" p"]{stroke-width:3}
circle.start{fill:var(--card);stroke:var(--text);stroke-width:2}circle.end{fill:var(--text)}
path.goal{stroke:var(--green);stroke-width:3;fill:none}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:12.5px;color:var(--soft);margin-top:6px}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;margin-right:5px;vertical-align:middle}
.legend i.box{height:10px;width:10px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;font-weight:600;color:var(--soft);font-size:12.5px}
th,td{padding:5px 10px 5px 0;border-bottom:1px solid var(--edge);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
tr:last-child td{border-bottom:0}
.holds{color:var(--green);white-space:nowrap}.fails{color:var(--orange);white-space:nowrap}
table.rules td:first-child{min-width:200px}table.rules .soft{font-size:12.5px}
code.digest{overflow-wrap:anywhere;font-size:11.5px;color:var(--soft)}
tr.none td{color:var(--soft)}
details{margin-top:12px}summary{cursor:pointer;color:var(--blue)}
pre{background:var(--page);border:1px solid var(--edge);border-radius:8px;padding:12px;overflow:auto;margin:8px 0 0;
 font-size:13px;line-height:1.45}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:0;font-size:14px}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.episode{margin-top:14px}.episode>.cards{margin-top:10px}
.episode .card,.episode .cards .card{background:none;border:0;padding:0}
footer{margin-top:40px;color:var(--soft);font-size:13px}
@media (max-width:560px){main{padding:18px 12px 40px}.tile b{font-size:20px}
 .tiles{grid-template-columns:1fr 1fr}dl{grid-template-columns:1fr}dd{margin-bottom:6px}.card{padding:12px}
 svg[viewBox^="0 0 480"] text:not(.phase){font-size:13.5px}}
@media print{body{background:#fff}.card,.tile,.note{break-inside:avoid}nav{display:none}}
"""
)
