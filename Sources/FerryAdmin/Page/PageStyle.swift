/// The style of the page: light and dark, from a phone's width on. Each text has a contrast of at least 4.5 to 1;
/// `.ci/admin` computes it.
enum PageStyle {
    static let text = """
        :root{--back:#fff;--card:#f6f7f9;--line:#d5d9df;--text:#191c20;--quiet:#565e68;\
        --read:#2458b3;--accepted:#17713f;--rejected:#a51d2a;--focus:#2458b3}
        @media(prefers-color-scheme:dark){:root{--back:#121417;--card:#1b1e23;--line:#343a42;--text:#e9ebee;--quiet:#a7afb9;\
        --read:#82aaf5;--accepted:#62c78e;--rejected:#f28b91;--focus:#82aaf5}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--back);color:var(--text);font:16px/1.45 system-ui,sans-serif}
        header{padding:1.1rem max(1.25rem,50% - 34.75rem);color:#fff;background:#17633a}
        [data-level=trouble] header{background:#7a4d00}
        [data-level=down] header{background:#98202b}
        header p{margin:0}
        h1{font-size:1.35rem;line-height:1.3;margin:.15rem 0 .35rem;font-weight:600;overflow-wrap:anywhere}
        main{max-width:72rem;margin:0 auto;padding:1rem 1.25rem 3rem}
        h2{font-size:1.05rem;margin:1.8rem 0 .6rem}
        .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(max(9.5rem,20% - .5rem),1fr));gap:.6rem;\
        margin:1rem 0 0;padding:0}
        .cards div{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.55rem .75rem}
        .cards dt{color:var(--quiet);font-size:.875rem}
        .cards dd{margin:0;font-size:1.3rem;font-variant-numeric:tabular-nums}
        .wide{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}
        .wide:focus-visible,a:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
        table{border-collapse:collapse;width:100%;font-size:.9375rem}
        th,td{padding:.4rem .55rem;text-align:left;border-top:1px solid var(--line);white-space:nowrap}
        thead th{border-top:0;background:var(--card);font-weight:600}
        tbody th{font-weight:600}
        td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
        td.w{white-space:normal;min-width:11rem;overflow-wrap:anywhere}
        ul.plain{list-style:none;margin:0;padding:0}
        ul.plain li{padding:.4rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
        ul.plain li:first-child{border-top:0}
        time,.quiet{color:var(--quiet)}
        header time{color:#fff}
        svg{display:block;width:100%;height:12rem;background:var(--card);border:1px solid var(--line);border-radius:.4rem}
        polyline{fill:none;stroke-width:2;vector-effect:non-scaling-stroke}
        .read{stroke:var(--read)}.accepted{stroke:var(--accepted);stroke-dasharray:7 3}.rejected{stroke:var(--rejected);\
        stroke-dasharray:2 3}
        .key span{display:inline-block;margin-right:1.2rem}
        .key i{display:inline-block;width:1.6rem;border-top:3px solid;vertical-align:middle;margin-right:.4rem}
        .key .r{border-color:var(--read)}.key .a{border-color:var(--accepted);border-top-style:dashed}\
        .key .x{border-color:var(--rejected);border-top-style:dotted}
        .skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:#fff;color:#191c20;padding:.3rem .6rem}
        @media(max-width:34rem){header{padding:.9rem}main{padding:.5rem .9rem 2rem}h1{font-size:1.15rem}}
        """
}
