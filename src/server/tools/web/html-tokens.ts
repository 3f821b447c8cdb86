/** A part of an HTML document. Comments, scripts and the like are left out. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: string }
  | { readonly type: 'close'; readonly name: string }
  /** Nothing to read; lets the caller yield. */
  | { readonly type: 'none' }

/** Elements whose content is not markup; it is left out, except that of a title. */
const rawElements: ReadonlyMap<string, RegExp> = new Map(
  ['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes'].map(name => [
    name,
    new RegExp(`</${name}`, 'gi'),
  ]),
)

const textOfToken = 32 * 1024
const maxQuotesOfTurn = 2_000

/**
 * Splits a document into tokens in time linear in its length, without building a tree: nesting costs nothing. What is
 * never closed (a tag, a comment, a script) extends to the end of the document.
 */
export function* htmlTokens(html: string): Generator<HtmlToken, void> {
  let at = 0
  while (at < html.length) {
    const next = html.indexOf('<', at)
    const end = next < 0 ? html.length : next
    for (let from = at; from < end; from += textOfToken) {
      yield { type: 'text', text: html.slice(from, Math.min(end, from + textOfToken)) }
    }
    if (next < 0) return
    const after = yield* markup(html, next)
    if (after === undefined) return
    at = after
  }
}

/** Yields the tokens of the markup at `at`; returns where it ends, undefined at the end of the document. */
function* markup(html: string, at: number): Generator<HtmlToken, number | undefined> {
  if (html.startsWith('<!--', at)) return endOf(html.indexOf('-->', at + 4), 3)
  const next = html[at + 1] ?? ''
  if (next === '!' || next === '?') return endOf(html.indexOf('>', at), 1)
  if (next === '/' && isLetter(html[at + 2])) {
    const end = html.indexOf('>', at)
    if (end < 0) return undefined
    yield { type: 'close', name: nameAt(html, at + 2) }
    return end + 1
  }
  if (!isLetter(next)) {
    yield { type: 'text', text: '<' }
    return at + 1
  }
  const end = yield* endOfTag(html, at + 1)
  if (end === undefined) return undefined
  const name = nameAt(html, at + 1)
  yield { type: 'open', name, attributes: html.slice(at + 1 + name.length, Math.min(end, at + maxAttributes)) }
  const closing = rawElements.get(name)
  return closing ? yield* raw(html, { name, closing, from: end + 1 }) : end + 1
}

/** Attributes after this length are ignored, such as those after an image in a `data:` URL. */
const maxAttributes = 16 * 1024

const endOf = (found: number, length: number): number | undefined => (found < 0 ? undefined : found + length)

const isLetter = (character = ''): boolean => /^[a-z]$/i.test(character)

const maxNameLength = 32

const nameAt = (html: string, at: number): string =>
  (/^[a-z][a-z\d-]*/i.exec(html.slice(at, at + maxNameLength))?.[0] ?? '').toLowerCase()

/** Finds the `>` of a tag outside of quotes. */
function* endOfTag(html: string, from: number): Generator<HtmlToken, number | undefined> {
  const special = /[>"']/g
  special.lastIndex = from
  for (let count = 1; ; count++) {
    const found = special.exec(html)
    if (!found) return undefined
    const [character] = found
    if (character === '>') return found.index
    const closing = html.indexOf(character, special.lastIndex)
    if (closing < 0) return undefined
    special.lastIndex = closing + 1
    if (count % maxQuotesOfTurn === 0) yield { type: 'none' }
  }
}

interface Raw {
  readonly name: string
  readonly closing: RegExp
  readonly from: number
}

function* raw(html: string, { name, closing, from }: Raw): Generator<HtmlToken, number | undefined> {
  closing.lastIndex = from
  const found = closing.exec(html)
  if (!found) return undefined
  if (name === 'title') yield { type: 'text', text: html.slice(from, Math.min(found.index, from + textOfToken)) }
  yield { type: 'close', name }
  const end = html.indexOf('>', found.index)
  return end < 0 ? undefined : end + 1
}

/** Returns the value of an attribute of a tag; undefined without it. */
export function attributeOf(attributes: string, name: 'href' | 'alt'): string | undefined {
  const found = attributePatterns[name].exec(attributes)
  return found?.[1] ?? found?.[2] ?? found?.[3]
}

const attributePattern = (name: string) =>
  new RegExp(`(?:^|[\\s"'])${name}\\s{0,9}=\\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i')

const attributePatterns = { href: attributePattern('href'), alt: attributePattern('alt') } as const
