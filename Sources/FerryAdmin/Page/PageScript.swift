/// The script of the page. It asks `/status` every second, and changes texts, colour and picture.
///
/// If rows have come or gone, it reads the page once more, and replaces only the parts that differ. The other elements
/// stay, and so do focus and scroll position. The first answer may already have a row that the page lacks, so the page
/// is read then as well.
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
            .map(k => Array.isArray(s[k]) ? k + s[k].length + s[k].map(v => v.name || '').join() : k + Object.keys(s[k]).sort().join())
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
          // Sections have their titles as keys; other elements are taken in their order. Gone ones are those before the same.
          const key = e => e.nodeName + (e.getAttribute('aria-labelledby') || '');
          const merge = (old, next) => {
            for (const a of [...old.attributes]) if (!next.hasAttribute(a.name)) old.removeAttribute(a.name);
            for (const a of next.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
            if (!next.firstElementChild) {
              if (old.textContent !== next.textContent) old.textContent = next.textContent;
              return;
            }
            const left = [...old.children];
            for (const child of [...next.children]) {
              const place = left.findIndex(e => key(e) === key(child));
              if (place < 0) { old.insertBefore(child, left[0] || null); continue; }
              for (const gone of left.splice(0, place)) gone.remove();
              merge(left.shift(), child);
            }
            for (const gone of left) gone.remove();
          };
          // The address of the page may hold credentials, and fetch refuses a URL with them. The origin has none.
          const get = async path => {
            const answer = await fetch(location.origin + path, { cache: 'no-store', signal: AbortSignal.timeout(5000) });
            if (!answer.ok) throw new Error(answer.status);
            return answer;
          };
          const read = async () => {
            const page = new DOMParser().parseFromString(await (await get('/')).text(), 'text/html');
            const [old, next] = [document, page].map(d => d.querySelector('main'));
            if (old && next) merge(old, next);
          };
          let drawn = null, version = null, heard = performance.now();
          const show = async s => {
            // Another version has another script.
            if (version !== null && version !== s.ferry) { location.reload(); return; }
            version = s.ferry;
            if (drawn !== shape(s)) {
              await read();
              drawn = shape(s);
            }
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
              await show(await (await get('/status')).json());
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
