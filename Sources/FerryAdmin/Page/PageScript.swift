/// The script of the page. It asks `/status` every second, and changes texts, colour and picture. A row that comes or goes
/// loads the page anew.
enum PageScript {
    static let text = #"""
        'use strict';
        (() => {
          const group = n => (n < 0 ? '\u2212' : '') + String(Math.abs(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, '\u202f');
          const tenth = x => { const t = Math.round(x * 10) / 10; return Number.isInteger(t) ? t + '.0' : String(t); };
          const form = {
            s: v => v == null ? '\u2013' : String(v),
            n: v => v == null ? '\u2013' : group(v),
            r: v => v >= 10 ? group(v) : tenth(v),
            t: v => v == null ? '\u2013' : v < 1 ? Math.round(v * 1000) + ' ms' : v < 10 ? tenth(v) + ' s'
              : v < 120 ? Math.floor(v) + ' s' : v < 7200 ? Math.floor(v / 60) + ' min' : v < 172800 ? Math.floor(v / 3600) + ' h' : Math.floor(v / 86400) + ' d',
            a: (v, s) => v == null ? 'never' : s.now - v < 2 ? 'now' : form.t(s.now - v) + ' ago',
            d: (v, s) => { const d = Math.floor((v - s.now) / 86400); return d < 0 ? 'ended' : d === 1 ? '1 day' : group(d) + ' days'; },
            l: (v, s) => {
              const [date, today] = [v, s.now].map(seconds => new Date(seconds * 1000));
              return date.toDateString() === today.toDateString() ? date.toLocaleTimeString() : date.toLocaleString();
            }
          };
          const at = (s, path) => path.split('.').reduce((v, k) => v == null ? v : v[decodeURIComponent(k)], s);
          const shape = s => Object.keys(s).sort()
            .filter(k => k !== 'history' && s[k] !== null && typeof s[k] === 'object')
            .map(k => Array.isArray(s[k]) ? k + s[k].length : k + Object.keys(s[k]).sort().join())
            .concat(s.alarms.length ? s.alarms[s.alarms.length - 1].at : []).join('/');
          const line = (steps, key, top) => steps.map((p, i) =>
            (720 - (steps.length - i) * 2) + ',' + (150 - (top ? p[key] / top : 0) * 140).toFixed(1)).join(' ');
          const [live, level] = ['live', 'level'].map(id => document.getElementById(id));
          const name = (key, word) => {
            document.body.dataset.level = key;
            document.title = document.title.replace(/^[^:]*/, word);
            // A screen reader speaks when this text changes.
            if (level && level.textContent !== word) level.textContent = word;
          };
          let first = null, heard = performance.now();
          const show = s => {
            if (first !== null && first !== shape(s)) { location.reload(); return; }
            first = shape(s);
            name(s.condition.level, { well: 'Well', trouble: 'Trouble', down: 'Down' }[s.condition.level]);
            for (const e of document.querySelectorAll('[data-b]')) {
              const [path, f] = e.dataset.b.split('|');
              const text = (form[f] || form.s)(at(s, path), s);
              if (e.textContent !== text) e.textContent = text;
            }
            const top = s.history.reduce((m, p) => Math.max(m, p.read, p.accepted, p.rejected), 0);
            for (const key of ['read', 'accepted', 'rejected']) {
              const e = document.querySelector('polyline.' + key);
              if (e) e.setAttribute('points', line(s.history, key, top));
            }
            const scale = document.getElementById('scale');
            if (scale) scale.textContent = form.r(top / 10);
          };
          const ask = async () => {
            try {
              // The address of the page may hold credentials, and fetch refuses a URL with them. The origin has none.
              const answer = await fetch(location.origin + '/status', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
              if (!answer.ok) throw new Error(answer.status);
              show(await answer.json());
              heard = performance.now();
              if (live) live.textContent = 'Live';
            } catch (e) {
              const silence = Math.round((performance.now() - heard) / 1000);
              if (silence > 2) {
                name('down', 'No answer');
                const sentence = document.querySelector('h1');
                if (sentence) sentence.textContent = 'No answer for ' + silence + ' s: the figures below are old.';
                if (live) live.textContent = 'As of';
              }
            }
            setTimeout(ask, 1000);
          };
          ask();
        })();
        """#
}
