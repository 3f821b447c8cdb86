import { createHash } from 'node:crypto'
import type { Approval } from '../../contract/approvals.ts'

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}' +
  'pre{background:#f4f4f4;color:#111;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere}' +
  'button{font:inherit;padding:.5rem 1.5rem;margin-right:.5rem}input{font:inherit;width:100%;box-sizing:border-box}'

/** No scripts, no other resources, and forms only to this service. */
const contentPolicy =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'"

/** Headers of every page: the address contains the token, so it is not stored and not passed on. */
export const pageHeaders = {
  'content-security-policy': contentPolicy,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

/** Characters that are invisible or change the order of text, which could hide what a call does. */
const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns text for HTML, with hidden characters as escapes. */
const escaped = (text: string): string =>
  text
    .replaceAll(hidden, each => `\\u{${each.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/[&<>"']/g, each => entities[each] ?? each)

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${style}</style></head>` +
  `<body><h1>${escaped(title)}</h1>${body}</body></html>`

/** Page of a link: the exact call, and the two answers. The form is sent to the address of the page. */
export const requestPage = ({ name, input, agent_id, session_id, expires_at }: Approval): string =>
  page(
    `Allow the tool call ${name}?`,
    `<p>Agent ${escaped(agent_id || 'none')}, session ${escaped(session_id)}. Expires at ${escaped(expires_at)}.</p>` +
      `<p>Arguments:</p><pre>${escaped(JSON.stringify(input, null, 2) ?? 'none')}</pre>` +
      `<form method="post"><p><label>Message to the agent, if you deny the call<br>` +
      `<input name="message" maxlength="10000" autocomplete="off"></label></p>` +
      `<button name="result" value="allow">Allow once</button><button name="result" value="deny">Deny</button></form>`,
  )

/** Page after an answer. */
export const answeredPage = ({ name, state }: Approval): string =>
  page(`The tool call ${name} was ${state}`, '<p>You can close this page.</p>')

/** Page of every link that cannot be used, whatever the reason. */
export const invalidPage: string = page(
  'This link is not valid',
  '<p>The link was used, has expired, or is incomplete. Pending approvals are listed by <code>GET /api/approvals</code>.</p>',
)
