import { decodeEntities } from './entities.ts'
import { attributeOf, type HtmlToken, htmlTokens } from './html-tokens.ts'
import { TextLayout } from './text-layout.ts'

/** A page as text, with Markdown for headings, lists, links and code. */
export interface PageText {
  readonly title: string
  readonly text: string
  /** True when the page is longer or more complex than the limits. */
  readonly isCut: boolean
}

export interface PageLimits {
  readonly maxChars: number
  readonly maxTokens: number
}

/** Our choice: about 100,000 tokens of a model, and a second of work. */
export const defaultPageLimits: PageLimits = { maxChars: 400_000, maxTokens: 200_000 }

const tokensOfTurn = 2_000

const skipped: ReadonlySet<string> = new Set(['svg', 'template', 'noscript', 'object', 'canvas', 'select'])
/** Empty lines around the elements: one, or none. */
const blocks: ReadonlyMap<string, 1 | 2> = new Map([
  ...['p', 'ul', 'ol', 'dl', 'table', 'blockquote', 'pre', 'section', 'article', 'figure', 'hr'].map(
    name => [name, 2] as const,
  ),
  ...['div', 'li', 'tr', 'dt', 'dd', 'br', 'header', 'footer', 'main', 'nav', 'aside', 'form', 'caption'].map(
    name => [name, 1] as const,
  ),
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(name => [name, 2] as const),
])

/** Converts a page to readable text. Yields about every 5 ms. `base` is the address of the page. */
export function* htmlText(html: string, base: string, limits = defaultPageLimits): Generator<undefined, PageText> {
  const reading = new PageReading(base, limits.maxChars)
  let count = 0
  for (const token of htmlTokens(html)) {
    reading.add(token)
    count += 1
    if (reading.isFull || count >= limits.maxTokens) return reading.result(true)
    if (count % tokensOfTurn === 0 || token.type === 'none' || (token.type === 'text' && token.text.length > 10_000)) {
      yield
    }
  }
  return reading.result(false)
}

class PageReading {
  readonly #base: string
  readonly #layout: TextLayout
  #title = ''
  #isInTitle = false
  /** Open elements of the kind that is skipped. */
  #skip: { readonly name: string; depth: number } | undefined

  constructor(base: string, maxChars: number) {
    this.#base = base
    this.#layout = new TextLayout(maxChars)
  }

  get isFull(): boolean {
    return this.#layout.isFull
  }

  result(isCut: boolean): PageText {
    return { title: this.#title.replaceAll(/\s+/g, ' ').trim(), text: this.#layout.text(), isCut }
  }

  add(token: HtmlToken): void {
    if (token.type === 'none') return
    if (token.type === 'text') this.#text(token.text)
    else if (this.#skip) this.#skipTo(token)
    else if (token.type === 'open') this.#open(token.name, token.attributes)
    else this.#close(token.name)
  }

  #text(text: string): void {
    if (this.#skip) return
    const decoded = decodeEntities(text)
    if (!this.#isInTitle) this.#layout.write(decoded)
    else if (this.#title.length < maxTitle) this.#title = (this.#title + decoded).slice(0, maxTitle)
  }

  #skipTo({ type, name }: { readonly type: 'open' | 'close'; readonly name: string }): void {
    if (name !== this.#skip?.name) return
    this.#skip.depth += type === 'open' ? 1 : -1
    if (this.#skip.depth === 0) this.#skip = undefined
  }

  #open(name: string, attributes: string): void {
    const layout = this.#layout
    if (skipped.has(name)) {
      if (!attributes.endsWith('/')) this.#skip = { name, depth: 1 }
      return
    }
    layout.breakLines(blocks.get(name) ?? 0)
    if (name === 'title') this.#isInTitle = true
    else if (/^h[1-6]$/.test(name)) layout.prefix(`${'#'.repeat(Number(name[1]))} `)
    else if (name === 'li') layout.prefix('- ')
    else if (name === 'td' || name === 'th') layout.cell()
    else if (name === 'pre') layout.openCode()
    else if (name === 'a') layout.openLink(() => this.#linked(attributeOf(attributes, 'href')))
    else if (name === 'img') this.#image(attributeOf(attributes, 'alt'))
  }

  #close(name: string): void {
    if (name === 'title') this.#isInTitle = false
    else if (name === 'a') this.#layout.closeLink()
    else if (name === 'pre') this.#layout.closeCode()
    this.#layout.breakLines(name === 'br' ? 0 : (blocks.get(name) ?? 0))
  }

  #image(alt = ''): void {
    if (alt.trim() !== '') this.#layout.write(`[image: ${decodeEntities(alt.slice(0, maxTitle))}]`)
  }

  /** Returns the address of a link; undefined for one that cannot be fetched. */
  #linked(href: string | undefined): string | undefined {
    if (href === undefined || href.length > maxAddress || href.startsWith('#')) return undefined
    const url = URL.parse(decodeEntities(href), this.#base)
    return url && /^https?:$/.test(url.protocol) ? url.href : undefined
  }
}

const maxTitle = 300
const maxAddress = 2_000
