// Questions to a page. Each returns plain values for the program that asks; nothing here changes the page.

// A colour as [red, green, blue, alpha]: three from 0 to 255, and one from 0 to 1.
const colour = text => {
  const numbers = (text.match(/[\d.]+(e-\d+)?/g) || []).map(Number);
  if (/^rgba?\(/.test(text)) return [...numbers.slice(0, 3), numbers[3] ?? 1];
  if (/^color\(srgb /.test(text)) return [...numbers.slice(0, 3).map(part => part * 255), numbers[3] ?? 1];
  throw new Error('No rule for the colour ' + text);
};
const mix = (top, under, share) => [0, 1, 2].map(i => top[i] * share + under[i] * (1 - share));
const over = (top, under) => mix(top, under, top[3]);

// WCAG 2.2, "relative luminance" and "contrast ratio".
const luminance = parts => {
  const [r, g, b] = parts.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

// Chromium's own backgrounds of a document without one.
const canvas = () => {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const takesDark = /dark/.test(getComputedStyle(document.documentElement).colorScheme)
    || /dark/.test(document.querySelector('meta[name=color-scheme]')?.content);
  return dark && takesDark ? [18, 18, 18] : [255, 255, 255];
};

// The colour as it is seen in an element, and the background as it is seen behind it. Backgrounds lie over each other from
// the root to the element, and the opacity of an element counts for all in it.
const seen = (element, top) => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.unshift(getComputedStyle(e));
  const paint = (level, backdrop) => {
    const style = chain[level];
    if (style.backgroundImage !== 'none') throw new Error('No rule for an image behind a text');
    const under = over(colour(style.backgroundColor), backdrop);
    let [front, back] = level === chain.length - 1 ? [over(top, under), under] : paint(level + 1, under);
    const opacity = Number(style.opacity);
    if (opacity < 1) [front, back] = [mix(front, backdrop, opacity), mix(back, backdrop, opacity)];
    return [front, back];
  };
  return paint(0, canvas());
};

const isShown = (element, box) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  && box.width > 0 && box.height > 0 && box.right + scrollX > 0 && box.bottom + scrollY > 0;
const name = element => {
  const text = (element.getAttribute('aria-label') || element.textContent).trim().replace(/\s+/g, ' ').slice(0, 40);
  const labels = element.getAttribute('aria-labelledby');
  return `${element.localName} "${labels ? document.getElementById(labels)?.textContent : text}"`;
};

// The contrast of each visible text, and of each line of a picture, with the least that WCAG AA wants.
const contrasts = () => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest('script, style')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (!isShown(element, range.getBoundingClientRect())) continue;
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
    const top = colour(isDrawn ? style.fill : style.color);
    if (isDrawn) top[3] *= Number(style.fillOpacity);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    found.push({ name: name(element), ratio: ratio(...seen(element, top)), least: isLarge ? 3 : 4.5 });
  }
  for (const shape of document.querySelectorAll('polyline, path, line, rect, circle')) {
    const style = getComputedStyle(shape);
    if (style.stroke === 'none') continue;
    const top = colour(style.stroke);
    top[3] *= Number(style.strokeOpacity);
    const named = `${shape.localName} "${shape.getAttribute('class')}"`;
    found.push({ name: named, ratio: ratio(...seen(shape, top)), least: 3 });
  }
  return found;
};

// The place of an element in the document, which stays while the page is not loaded anew.
const place = element => [...document.querySelectorAll('*')].indexOf(element);

const focusable = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
  .filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }));

const marks = element => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const hasOutline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const others = ['boxShadow', 'backgroundColor', 'color', 'borderColor', 'textDecoration'].map(key => style[key]);
  return {
    outline: hasOutline ? [style.outlineStyle, style.outlineWidth, style.outlineColor].join(' ') : 'none',
    others: [...others, isShown(element, box)].join(' | '),
  };
};

// The elements that Tab should reach, in order, with their looks without the focus.
const stops = () => focusable().map(e => ({ name: name(e), place: place(e), tabIndex: e.tabIndex, ...marks(e) }));

// The element that has the focus; null if none has it.
const focused = () => {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return {
    name: name(element), place: place(element), ...marks(element),
    isInView: isShown(element, box) && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0,
    outlineRatio: ratio(...seen(element.parentElement, colour(style.outlineColor))),
  };
};

// All that the page says.
const content = () => ({
  level: document.body.dataset.level,
  title: document.title,
  sentence: document.querySelector('h1').textContent,
  headings: [...document.querySelectorAll('h1, h2, h3')].map(e => e.localName === 'h1' ? 'h1' : e.textContent),
  labels: [...document.querySelectorAll('dt, .key span, .quiet:not(.key), [aria-label]')].map(e =>
    e.getAttribute('aria-label') || e.textContent.replace(/[\d\u202f.]+/g, '#').trim()),
  tables: [...document.querySelectorAll('table')].map(table => ({
    columns: [...table.querySelectorAll('thead th')].map(e => e.textContent),
    rows: [...table.querySelectorAll('tbody tr')].map(row => [row.cells.length, row.cells[0].textContent].join(': ')),
  })),
  values: Object.fromEntries([...document.querySelectorAll('[data-b]')].map(e => [e.dataset.b, e.textContent])),
  scale: document.getElementById('scale').textContent,
  lines: [...document.querySelectorAll('polyline')].map(e => e.getAttribute('points')),
});

// The overflow to the right in pixels.
const overflow = () =>
  Math.max(document.scrollingElement.scrollWidth, document.body.scrollWidth) - Math.min(innerWidth, screen.width);

// The background of the head, which shows the level.
const headColour = () => getComputedStyle(document.querySelector('header')).backgroundColor;
