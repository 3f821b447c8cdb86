import { randomBytes } from 'node:crypto'

/** Returns a value that marks the style elements of one load of the page. */
export const newNonce = (): string => randomBytes(18).toString('base64')

/** Returns the headers of a page of the console. Source: Console, section 7, rule 5. */
export const consoleHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'content-security-policy': contentPolicy(nonce),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})

/**
 * Allows only what the console itself contains. Mantine creates style elements, which need the nonce. Styles of single
 * elements are set by script, which no policy restricts. Scripts cannot turn text into markup: `default` rejects all of
 * it, and `preview` is for `srcdoc` of a preview of an artifact. Such a frame needs no `frame-src`, because it has no
 * address, and it inherits this policy.
 */
const contentPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default preview',
  ].join('; ')
