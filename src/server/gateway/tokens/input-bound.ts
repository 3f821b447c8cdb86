import { countOf, isRecord, type Json, listOf, recordOf, recordsOf } from '../../platform/json.ts'

/** What a request body can cost in input at most, as far as the body alone tells. */
export interface InputBound {
  /** Bytes that a model may read as text. A text token is at least one byte. */
  readonly textBytes: number
  readonly images: number
  /** Calls of tools that the provider runs; what they find is input too. */
  readonly providerCalls: number
  /** Tools with instructions of the provider's own, which are input. */
  readonly tools: number
  /** True when it refers to what is not in it, such as a document: only the model's own window bounds that. */
  readonly fillsWindow: boolean
  /** How many answers are asked for. */
  readonly answers: number
}

/**
 * Bounds the input of a request in any of the clients' formats. The bytes of the body bound its text; only the data of
 * images and documents is taken out, and counted by what it is. Source: Gateway, section 4.
 */
export function inputBoundOf(body: Buffer, request: Json): InputBound {
  const found = new Findings()
  for (const field of ['system', 'messages', 'input'] as const) found.read(request[field])
  const tools = recordsOf(request['tools'])
  const providerTools = tools.filter(isRunByProvider)
  const uses = providerTools.reduce((sum, tool) => sum + usesOf(tool), 0)
  const isSearching = isRecord(request['web_search_options'])
  const servers = listOf(request['mcp_servers']).length
  return {
    textBytes: body.length - found.dataBytes,
    images: found.images,
    providerCalls: uses + ((isSearching ? 1 : 0) + servers) * defaultUses,
    tools: tools.filter(({ type }) => type !== undefined && type !== 'custom' && type !== 'function').length,
    fillsWindow: found.fillsWindow || outsideFields.some(name => isSaid(request[name])),
    answers: Math.max(1, countOf(request['n']) ?? 1),
  }
}

/** Fields that stand for earlier input, kept by the provider. */
const outsideFields = ['previous_response_id', 'conversation', 'prompt', 'container'] as const

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

const defaultUses = 10

const usesOf = ({ max_uses: most }: Json): number => countOf(most) ?? defaultUses

/** How the names of tools begin that the caller runs by itself, or that add nothing to what the body says. */
const callerTools = [
  'custom',
  'function',
  'bash',
  'text_editor',
  'computer',
  'memory',
  'local_shell',
  'shell',
  'apply_patch',
  'tool_search',
]

const isRunByProvider = ({ type }: Json): boolean =>
  typeof type === 'string' && !callerTools.some(name => type.startsWith(name))

const imageTypes = new Set(['image', 'image_url', 'input_image', 'computer_screenshot'])
const documentTypes = new Set(['document', 'file', 'input_file', 'item_reference', 'video_url', 'input_video', 'video'])

/** Walks through what a conversation holds. With a list of its own, not by recursion: depth is the sender's choice. */
class Findings {
  images = 0
  dataBytes = 0
  fillsWindow = false

  read(content: unknown): void {
    const waiting: unknown[] = [content]
    while (waiting.length > 0) {
      const value = waiting.pop()
      if (Array.isArray(value)) for (const item of value) waiting.push(item)
      else if (isRecord(value)) {
        this.#note(value)
        // What a tool is called with may look like anything, and is text to the model.
        waiting.push(value['content'], value['output'], recordOf(value['source'])['content'])
      }
    }
  }

  #note(block: Json): void {
    const type = String(block['type'])
    if (imageTypes.has(type)) {
      this.images++
      this.dataBytes += dataIn(block)
    } else if (documentTypes.has(type) && !isOfText(block)) {
      this.fillsWindow = true
      this.dataBytes += dataIn(block)
    }
  }
}

/** A document whose text stands in the body as such. */
const isOfText = ({ source }: Json): boolean => ['text', 'content'].includes(String(recordOf(source)['type']))

/** The length of the base64 text in an image or a document; 0 for one that is elsewhere. */
function dataIn({ source, image_url: image, file, file_data: fileData }: Json): number {
  const url = isRecord(image) ? image['url'] : image
  const places = [recordOf(source)['data'], url, recordOf(file)['file_data'], fileData]
  return places.reduce((sum: number, text) => sum + (isBase64(text) ? text.length : 0), 0)
}

/** Only what no model reads as text may be left out of the count. */
const isBase64 = (text: unknown): text is string =>
  typeof text === 'string' && /^(?:data:[\w.+/-]*;base64,)?[A-Za-z0-9+/_=-]*$/.test(text)
