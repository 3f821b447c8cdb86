import { createHash } from 'node:crypto'

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}' +
  'pre{background:#f4f4f4;color:#111;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere}' +
  'button{font:inherit;padding:.5rem 1.5rem;margin-right:.5rem}input{font:inherit;width:100%;box-sizing:border-box}'

/** No scripts, no other resources, and forms only to this service. */
const contentPolicy =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'"

/** Headers of a page without scripts. Its address may contain a credential: it is not stored and not passed on. */
export const pageHeaders = {
  'content-security-policy': contentPolicy,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

/** Characters that are invisible or change the order of text, which could hide what a page asks for. */
const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns text for HTML, with hidden characters as escapes. */
export const escaped = (text: string): string =>
  text
    .replaceAll(hidden, each => `\\u{${each.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/[&<>"']/g, each => entities[each] ?? each)

/** Returns a page without scripts; `body` and `head` are HTML. */
export const page = (title: string, body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${style}</style>${head}</head>` +
  `<body><h1>${escaped(title)}</h1>${body}</body></html>`
