"""The style sheet of the HTML reports."""

from __future__ import annotations

STYLE = """\
:root { --good: #1a7f4b; --warn: #a15c00; --bad: #b42318; --open: #475467; --line: #e4e7ec; --soft: #667085; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f6f8; color: #1d2433; font: 15px/1.5 system-ui, Helvetica, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 40px; }
h1 { font-size: 24px; margin: 0 0 16px; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 0 0 12px; }
section { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: 18px 20px; margin: 16px 0; }
.banner { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; border-radius: 8px; padding: 14px 20px;
  color: #fff; background: var(--open); -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.banner strong { font-size: 19px; }
.banner.identical, .banner.noise { background: var(--good); }
.banner.suspicious, .banner.not-proven, .banner.not-deterministic { background: var(--warn); }
.banner.broken { background: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
dl + .wide { margin-top: 16px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
th { padding: 4px 14px 4px 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); padding: 5px 14px 5px 0; vertical-align: top; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
tbody tr:last-child td { border-bottom: 0; }
.right { text-align: right; white-space: nowrap; }
.decisions td:first-child { white-space: nowrap; font-weight: 500; }
.windows td { overflow-wrap: normal; }
.windows td:first-child, .windows .name { overflow-wrap: anywhere; }
.windows td:first-child { min-width: 190px; }
.windows .name { display: block; min-width: 160px; }
.audit td:first-child { width: 34%; }
.audit td:last-child { width: 24%; }
.registry td { overflow-wrap: normal; }
.registry .name { display: block; min-width: 200px; overflow-wrap: anywhere; }
.registry .verdict { white-space: nowrap; }
.whole { white-space: nowrap; }
small { color: var(--soft); font-weight: 400; }
.legend { color: var(--soft); font-size: 13px; margin: 10px 0 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 8px 40px; }
.bar { position: relative; min-width: 120px; height: 10px; margin-top: 6px; background: #eef0f4; border-radius: 2px;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.bar b { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 2px; background: #98a2b3; }
.bar.noise b, .bar.identical b { background: #4aa97c; }
.bar.suspicious b, .bar.not-proven b, .bar.not-deterministic b { background: #e0a042; }
.bar.broken b { background: #d9534a; }
.bar i { position: absolute; top: -3px; bottom: -3px; width: 2px; background: #344054; }
.verdict { font-weight: 600; color: var(--good); }
.verdict.suspicious, .verdict.not-proven, .verdict.not-deterministic { color: var(--warn); }
.verdict.broken { color: var(--bad); }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; }
@media print {
  body { background: #fff; font-size: 11px; }
  main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; margin: 14px 0; }
  table, .legend { font-size: 10px; }
  tr, .banner { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""

__all__ = ["STYLE"]
