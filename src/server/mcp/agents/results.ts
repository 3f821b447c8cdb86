import type { TextBlock } from '../../../contract/events.ts'
import type { McpToolResult } from '../../../contract/mcp.ts'
import { type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import type { Sandbox } from '../../sandboxes/sandbox.ts'
import { boundedText } from '../../tools/large-results.ts'
import { maxMediaBytes, mediaBlock, mediaIn } from '../../tools/media.ts'
import type { MediaBlock, ModelInputs, ToolLimits, ToolResult } from '../../tools/tool.ts'

/** How results are converted for a run. */
export interface ResultOptions {
  /** Media that the model of the run reads. */
  readonly model: ModelInputs
  /** Opens the session's sandbox, where results that are too long are stored. */
  readonly openSandbox: () => Promise<Sandbox>
}

/** A result has at most this many images; further ones are described. */
const maxImages = 4

/** Converts the result of an MCP tool: texts become one text, and images stay images if the model reads them. */
export async function toolResult(
  result: McpToolResult,
  { model, openSandbox, limits }: ResultOptions & { readonly limits: ToolLimits },
): Promise<ToolResult> {
  const images: MediaBlock[] = []
  const texts = result.content.map(block => {
    const image = images.length < maxImages && model.images ? imageIn(block) : undefined
    if (!image) return textIn(block)
    images.push(image)
    return ''
  })
  const joined = texts.filter(text => text !== '').join('\n')
  const { structuredContent }: Json = result
  const whole = joined === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : joined
  const text = whole.toWellFormed().replaceAll('\0', '\u{fffd}')
  const isLong = text.length > limits.resultChars
  // Without a sandbox, a result that is too long is cut.
  const sandbox = isLong ? await openSandbox().catch(() => undefined) : undefined
  const bounded = await boundedText({ text }, { limits, ...(sandbox && { sandbox }) })
  const first: TextBlock[] =
    bounded.trim() === '' && images.length > 0
      ? []
      : [{ type: 'text', text: bounded.trim() === '' ? '(no output)' : bounded }]
  return { content: [...first, ...images], is_error: result.isError === true }
}

function imageIn(block: Json): MediaBlock | undefined {
  const { type, data } = block
  if (type !== 'image' || typeof data !== 'string' || data.length > (maxMediaBytes * 4) / 3 + 4) return undefined
  const bytes = Buffer.from(data, 'base64')
  // What the server calls an image may be anything, which providers reject.
  const media = mediaIn(bytes)
  return media?.type === 'image' ? mediaBlock(media, bytes) : undefined
}

function textIn(block: Json): string {
  const { type, text, data, uri, name, mimeType, resource } = block
  switch (type) {
    case 'text':
      return textOf(text)
    case 'image':
    case 'audio':
      return `[${type}: ${described(textOf(data), mimeType)}]`
    case 'resource_link':
      return [nonEmptyText(name), nonEmptyText(uri)].filter(part => part !== undefined).join(': ')
    case 'resource': {
      const { uri: of, text: content, blob, mimeType: kind } = recordOf(resource)
      return typeof content === 'string'
        ? `${textOf(of)}\n${content}`
        : `[resource ${textOf(of)}: ${described(textOf(blob), kind)}]`
    }
    default:
      return `[${textOf(type) || 'unknown content'}]`
  }
}

/** Describes base64 data without decoding all of it. */
function described(data: string, mimeType: unknown): string {
  const media = mediaIn(Buffer.from(data.slice(0, 64), 'base64'))
  const kind = nonEmptyText(mimeType) ?? media?.mediaType ?? 'unknown type'
  return `${kind.slice(0, 100)}, about ${Math.floor((data.length * 3) / 4)} bytes`
}
