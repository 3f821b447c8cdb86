/** Our guess at a block that is not text: a large image, and a document of some pages. */
const tokensPerImage = 1_600
const tokensPerDocument = 12_000
/** English text has about 4 bytes a token, code and JSON fewer. */
const bytesPerToken = 3.5
/** What the format adds around each message and each tool. */
const tokensPerItem = 8

/** Fields whose text is not shown to the model as it is. */
const unread = new Set(['signature', 'cache_control', 'media_type', 'encrypted_content', 'id', 'tool_use_id'])

/**
 * A guess at the input tokens of a request in Anthropic's format, never 0. It covers system, messages, tools, images
 * and documents, and errs on the high side for prose.
 */
export const estimateInputTokens = (request: Parts): number => estimate(request, anthropicSize)

/** The same for OpenAI's and Google's formats, whose images and files stand in text that the model never reads as such. */
export const estimateForeignInputTokens = (request: Parts): number => estimate(request, foreignSize)

/** Guesses when it is first asked, and holds the request no longer than that: a stream may run for an hour. */
export function inputGuess(request: Parts, moreTokens: number) {
  let held: Parts | undefined = request
  let guessed = 1
  return {
    tokens(): number {
      if (held) guessed = estimateInputTokens(held) + moreTokens
      held = undefined
      return guessed
    },
    drop(): void {
      held = undefined
    },
  }
}

interface Parts {
  readonly system?: unknown
  readonly messages?: unknown
  readonly tools?: unknown
}

function estimate({ system, messages, tools }: Parts, fixedSize: FixedSize): number {
  const items = [messages, tools].map(list => (Array.isArray(list) ? list.length : 0))
  const around = ((items[0] ?? 0) + (items[1] ?? 0)) * tokensPerItem
  return Math.max(1, Math.ceil(around + sizeOf([system, messages, tools], fixedSize)))
}

/** About how many tokens so many bytes of text are. */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** About how many tokens `text` is, at least 1. */
export const estimateTextTokens = (text: string): number => Math.max(1, estimateTokens(Buffer.byteLength(text)))

/** Walks with a list of its own, not by recursion: depth is the sender's choice. */
function sizeOf(values: readonly unknown[], fixedSize: FixedSize): number {
  const waiting: unknown[] = [...values]
  let tokens = 0
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'object' && value !== null) {
      const fixed = fixedSize(value)
      if (fixed === undefined) pushParts(value, waiting)
      else tokens += fixed
    } else if (typeof value === 'string') tokens += Buffer.byteLength(value) / bytesPerToken
    else if (value !== undefined) tokens += 1
  }
  return tokens
}

/** The size of a block whose content is not text; undefined for one that must be read. */
type FixedSize = (block: object) => number | undefined

const anthropicSize: FixedSize = block => {
  const { type, source } = block as { type?: unknown; source?: { type?: unknown } | null }
  if (type === 'image') return tokensPerImage
  if (type === 'document' && source?.type !== 'text' && source?.type !== 'content') return tokensPerDocument
  return undefined
}

/** Where the two formats put data: `image_url`, `input_image`, `file`, `input_audio`, `inlineData` ... */
const foreignSize: FixedSize = block => {
  const { data, file_data: file, url, image_url: image } = block as Readonly<Record<string, unknown>>
  const isInline = typeof data === 'string' || typeof file === 'string' || isDataUrl(url) || isDataUrl(image)
  return isInline ? tokensPerImage : undefined
}

const isDataUrl = (text: unknown): boolean => typeof text === 'string' && text.startsWith('data:')

function pushParts(block: object, waiting: unknown[]): void {
  if (Array.isArray(block)) {
    for (const item of block) waiting.push(item)
    return
  }
  for (const [key, value] of Object.entries(block)) {
    if (unread.has(key)) continue
    // Names of a tool's parameters are read by the model too.
    if (key !== 'type' && key !== 'text' && key !== 'content' && key !== 'role') waiting.push(key)
    waiting.push(value)
  }
}
