import { invalid } from '../../platform/errors.ts'
import { mediaTypeIn } from '../../platform/media-type.ts'
import { inTurns } from '../../platform/turns.ts'
import type { SendWeb, WebResponse } from './client.ts'
import { defaultPageLimits, htmlText, type PageText } from './html-text.ts'

/** A fetched page. */
export interface Page extends PageText {
  /** Address after redirects. */
  readonly url: string
  readonly contentType: string
}

/** A redirect to another host, which the model has to request itself. */
export interface Redirect {
  readonly redirect: string
}

const maxRedirects = 5
/** Limit of a page in bytes. */
export const maxPageBytes = 10 * 1024 * 1024
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const accept = 'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/xml;q=0.8'

/** Fetches a page and converts it to text. Follows redirects on the same host only; each is checked. */
export async function fetchPage(send: SendWeb, address: string, signal: AbortSignal): Promise<Page | Redirect> {
  let url = encoded(address)
  for (let count = 0; count <= maxRedirects; count++) {
    const response = await send({ url, headers: { accept }, maxBytes: maxPageBytes }, signal)
    const target = redirectOf(response, url)
    if (target === undefined) return await pageOf(response, url, signal)
    if (new URL(target).hostname !== new URL(url).hostname) return { redirect: target }
    url = target
  }
  throw invalid(`more than ${maxRedirects} redirects`)
}

/**
 * Returns an address with other than ASCII characters percent-encoded; others unchanged. Backslashes and white space stay,
 * and are rejected.
 */
const encoded = (address: string): string => (/[\\\s]/.test(address) ? address : (URL.parse(address)?.href ?? address))

/** Returns the address of a redirect; undefined for another response. */
function redirectOf({ status, headers }: WebResponse, url: string): string | undefined {
  const { location } = headers
  if (!redirects.has(status) || location === undefined) return undefined
  const target = URL.parse(location, url)
  if (!target || !/^https?:$/.test(target.protocol)) throw invalid('redirect to an address that is not http or https')
  target.hash = ''
  return target.href
}

async function pageOf(response: WebResponse, url: string, signal: AbortSignal): Promise<Page> {
  const { status, headers, body } = response
  if (status < 200 || status > 299) throw invalid(`server responded with status ${status}`)
  const contentType = headers['content-type'] ?? ''
  const type = mediaTypeIn(contentType)
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml'
  if (!isHtml && !isText(type)) {
    throw invalid(
      `content type ${type.slice(0, 100) || 'unknown'} is not text; only web pages and other text can be read`,
    )
  }
  const decoded = await inTurns(decode(body, charsetOf(contentType) ?? (isHtml ? charsetIn(body) : undefined)), signal)
  const page = isHtml ? await inTurns(htmlText(decoded, url), signal) : plain(decoded)
  return { ...page, url, contentType: type }
}

const isText = (type: string): boolean =>
  /^text\/[\w.+-]+$|^application\/([\w.-]+\+)?(json|xml|yaml|javascript|x-ndjson)$/.test(type)

function plain(text: string): PageText {
  const { maxChars } = defaultPageLimits
  return { title: '', text: text.slice(0, maxChars), isCut: text.length > maxChars }
}

const charsetOf = (contentType: string): string | undefined =>
  /;\s{0,9}charset\s{0,9}=\s{0,9}"?([\w:.-]{1,40})/i.exec(contentType)?.[1]

/** Returns the character set that the start of a page declares. */
const charsetIn = (body: Buffer): string | undefined =>
  /<meta[^>]{1,200}charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i.exec(body.toString('latin1', 0, 2048))?.[1]

const bytesOfTurn = 256 * 1024

/** Decodes a body; an unknown character set counts as UTF-8. */
function* decode(body: Buffer, charset = 'utf-8'): Generator<undefined, string> {
  const decoder = decoderFor(charset)
  const parts: string[] = []
  for (let at = 0; at < body.length; at += bytesOfTurn) {
    parts.push(decoder.decode(body.subarray(at, at + bytesOfTurn), { stream: true }))
    yield
  }
  return parts.join('') + decoder.decode()
}

function decoderFor(charset: string) {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
