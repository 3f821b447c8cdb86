/** Estimates for blocks that are not text: a large image, and a document of several pages. */
const tokensPerImage = 1_600
const tokensPerDocument = 12_000
/** English text has about 4 bytes per token, code and JSON fewer. */
const bytesPerToken = 3.5
/** Overhead of the format for each message and each tool. */
const tokensPerItem = 8

/** Fields whose text the model does not read. */
const unread: ReadonlySet<string> = new Set([
  'signature',
  'cache_control',
  'media_type',
  'encrypted_content',
  'id',
  'tool_use_id',
])

/**
 * Estimates the input tokens of a request in Anthropic's format; never 0. Includes system, messages, tools, images and
 * documents. The estimate is too high rather than too low for prose.
 */
export const estimateInputTokens = (request: Parts): number => estimate(request, anthropicSize)

/** Same as estimateInputTokens for OpenAI's and Google's formats, which hold images and files as base64 strings. */
export const estimateForeignInputTokens = (request: Parts): number => estimate(request, foreignSize)

/**
 * Estimates the input on the first call of `tokens` and then releases the request, because a stream may run for an
 * hour.
 */
export function inputEstimate(request: Parts, moreTokens: number) {
  let pending: Parts | undefined = request
  let estimated = 1
  return {
    tokens(): number {
      if (pending) estimated = estimateInputTokens(pending) + moreTokens
      pending = undefined
      return estimated
    },
    /** Releases the request without an estimate. */
    drop(): void {
      pending = undefined
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

/** Estimates the tokens of `bytes` bytes of text. */
export const estimateTokens = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** Estimates the tokens of `text`; at least 1. */
export const estimateTextTokens = (text: string): number => Math.max(1, estimateTokens(Buffer.byteLength(text)))

/** Iterates with an explicit stack, because the sender controls the depth. */
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

/** Returns the tokens of a block whose content is not text; undefined for a block that must be read. */
type FixedSize = (block: object) => number | undefined

const anthropicSize: FixedSize = block => {
  const { type, source } = block as { type?: unknown; source?: { type?: unknown } | null }
  if (type === 'image') return tokensPerImage
  if (type === 'document' && source?.type !== 'text' && source?.type !== 'content') return tokensPerDocument
  return undefined
}

/** Recognises data in `image_url`, `input_image`, `file`, `input_audio`, `inlineData` ... */
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
    // The model reads the names of a tool's parameters too.
    if (key !== 'type' && key !== 'text' && key !== 'content' && key !== 'role') waiting.push(key)
    waiting.push(value)
  }
}
