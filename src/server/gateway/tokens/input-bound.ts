import { countOf, isRecord, type Json, listOf, recordOf, recordsOf, textIn } from '../../platform/json.ts'
import { type OwnMembers, outlineAt } from '../bytes/json-members.ts'
import { openText, type Span } from '../bytes/json-scanner.ts'
import { type Call, isBedrock, type Units } from '../core/call.ts'
import { parsedObject } from '../core/request-checks.ts'
import { audioTypes, documentTypes, imageTypes, wordBits } from '../core/request-words.ts'
import { field, objectField } from '../formats/gemini/fields.ts'

/** Upper bound for the input of a request body, derived from the body alone. */
export interface InputBound {
  /** Bytes that a model may read as text. A text token is at least one byte. */
  readonly textBytes: number
  readonly images: number
  /** Tokens of recordings in the body. */
  readonly audioTokens: number
  /** True when the input may contain audio, in the body or in what it refers to. */
  readonly hasAudio: boolean
  /** True when the answer may contain audio. */
  readonly answersInAudio: boolean
  /** Calls of tools that the provider runs; their results are input too. */
  readonly providerCalls: number
  /** Provider tool calls with a fee. */
  readonly toolCalls: Units
  /** Tools for which the provider adds instructions to the input. */
  readonly tools: number
  /**
   * True when the body refers to external content, such as a document, which only the model's context window bounds.
   */
  readonly fillsWindow: boolean
  /** Number of requested answers. */
  readonly answers: number
}

/**
 * Bounds the input of a request in any client format. The size of the body bounds its text; the data of images and
 * documents is subtracted and counted by type. A body in which the scan found neither is not parsed. A provider tool
 * counts `defaultUses` calls when the request does not limit it. Source: Gateway, section 4.
 */
export function inputBoundOf(
  { kind, body }: Pick<Call, 'kind' | 'body'>,
  members: OwnMembers | undefined,
  defaultUses: number,
): InputBound {
  if (isBedrock(kind)) return bedrockBound(body, members, defaultUses)
  const isScanned = members?.body === body && !members.hasEscapedLetter
  const isPlain = isScanned && (members.foundWords & wordBits.media) === 0
  const request = isPlain ? outlineOf(body, members) : parsedObject(body)
  const media = isPlain ? noMedia : kind === 'gemini' ? geminiMediaIn(request) : mediaIn(request)
  const rest = kind === 'gemini' ? geminiRest(request, defaultUses) : restOf(request, defaultUses)
  return {
    ...rest,
    textBytes: body.length - media.dataBytes,
    images: media.images,
    audioTokens: Math.ceil(media.audioBytes * audioTokensPerByte),
    hasAudio: media.hasAudio,
    fillsWindow: media.fillsWindow || rest.fillsWindow,
  }
}

/**
 * Bounds the input in Bedrock's own formats, which differ by model family: all bytes count as text, including those of
 * images, and external content fills the window.
 */
function bedrockBound(body: Buffer, members: OwnMembers | undefined, defaultUses: number): InputBound {
  const hasExternal = ['s3Location', 's3Uri', 'document'].some(name => body.includes(`"${name}"`))
  const runsTools = body.includes('"systemTool"') || body.includes('"web_search')
  return {
    textBytes: body.length,
    images: 0,
    audioTokens: 0,
    hasAudio: false,
    answersInAudio: false,
    providerCalls: runsTools ? defaultUses : 0,
    toolCalls: {},
    tools: runsTools ? 1 : 0,
    fillsWindow: hasExternal || members?.hasEscapedLetter === true,
    answers: 1,
  }
}

interface Media {
  images: number
  dataBytes: number
  /** Base64 text of recordings; part of `dataBytes`. */
  audioBytes: number
  hasAudio: boolean
  fillsWindow: boolean
}

/** Upper bound: Gemini counts 32 tokens a second, other providers fewer; the slowest codec in use has 750 bytes a second. */
const audioTokensPerByte = (32 / 750) * (3 / 4)

type Rest = Omit<InputBound, 'textBytes' | 'images' | 'audioTokens' | 'hasAudio'>

/** Shared by requests without tools. */
const nothingElse: Rest = {
  providerCalls: 0,
  toolCalls: { web_search: 0, web_search_preview: 0, file_search: 0, code_container: 0 },
  tools: 0,
  fillsWindow: false,
  answers: 1,
  answersInAudio: false,
}

const noMedia: Media = { images: 0, dataBytes: 0, audioBytes: 0, hasAudio: false, fillsWindow: false }

/** Bytes below which parsing a value is faster than scanning it. */
const shortBytes = 4_096

const parsedAt = (body: Buffer, { start, end }: Span): unknown => JSON.parse(body.toString('utf8', start, end))

/** Parses the scanned members that bounds read. */
function outlineOf(body: Buffer, { names, values }: OwnMembers): Json {
  const outline: Record<string, unknown> = {}
  for (const [at, span] of values.entries()) {
    const name = names[at]
    if (!span || name === undefined || !allBoundFields.has(name)) continue
    const isShort = span.end - span.start < shortBytes
    outline[name] = isShort ? parsedAt(body, span) : outlineAt(openText(body), span, 2)
  }
  return outline
}

function restOf(request: Json, defaultUses: number): Rest {
  if (Object.keys(request).length === 0) return nothingElse
  const tools = recordsOf(request['tools'])
  const providerTools = tools.filter(isRunByProvider)
  const maxCalls = countOf(request['max_tool_calls']) ?? Number.POSITIVE_INFINITY
  const usesOf = ({ max_uses: max }: Json): number => countOf(max) ?? Math.min(defaultUses, maxCalls)
  const usesOfAll = (some: readonly Json[]) => some.reduce((sum, tool) => sum + usesOf(tool), 0)
  const named = (name: string) => providerTools.filter(({ type }) => String(type).startsWith(name))
  const searches = named('web_search')
  const isSearching = isRecord(request['web_search_options'])
  const servers = listOf(request['mcp_servers']).length
  return {
    providerCalls: usesOfAll(providerTools) + ((isSearching ? 1 : 0) + servers) * defaultUses,
    toolCalls: {
      web_search: usesOfAll(searches.filter(tool => !isSearchPreview(tool))) + (isSearching ? defaultUses : 0),
      web_search_preview: usesOfAll(searches.filter(isSearchPreview)),
      file_search: usesOfAll(named('file_search')),
      code_container: named('code_interpreter').length,
    },
    tools: tools.filter(({ type }) => type !== undefined && type !== 'custom' && type !== 'function').length,
    fillsWindow: externalFields.some(name => isPresent(request[name])),
    answers: Math.max(1, countOf(request['n']) ?? 1),
    answersInAudio: listOf(request['modalities']).includes('audio') || isRecord(request['audio']),
  }
}

/** Reports whether a tool is OpenAI's earlier search tool, with or without a date in its type. */
export const isSearchPreview = ({ type }: Json): boolean => String(type).startsWith('web_search_preview')

/** Google's format has no limit for provider tool calls. */
function geminiRest(request: Json, usesEach: number): Rest {
  const settings = objectField(request, 'generationConfig')
  const providerTools = recordsOf(request['tools']).flatMap(tool =>
    Object.keys(tool).filter(name => name !== 'functionDeclarations' && name !== 'function_declarations'),
  )
  return {
    providerCalls: providerTools.length * usesEach,
    toolCalls: { web_search: providerTools.filter(name => /^google_?search/i.test(name)).length * usesEach },
    tools: providerTools.length,
    fillsWindow: textIn(field(request, 'cachedContent')) !== undefined,
    answers: Math.max(1, countOf(field(settings, 'candidateCount')) ?? 1),
    answersInAudio: listOf(field(settings, 'responseModalities')).some(name => /audio/i.test(String(name))),
  }
}

/** Fields that refer to earlier input stored by the provider. */
const externalFields = ['previous_response_id', 'conversation', 'prompt', 'container'] as const

/** Fields that bounds read besides the conversation, except for Google's format. */
export const boundFields = [
  ...(['tools', 'max_tool_calls', 'web_search_options', 'mcp_servers', 'n', 'modalities', 'audio'] as const),
  ...externalFields,
] as const
const allBoundFields: ReadonlySet<string> = new Set([
  ...boundFields,
  'generationConfig',
  'generation_config',
  'cachedContent',
  'cached_content',
])

const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** Start of the types of tools that the client runs, or that add no input beyond the body. */
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

/** Finds the images and documents of a conversation. Uses an explicit stack, because the sender controls the depth. */
function mediaIn(request: Json): Media {
  const found = { ...noMedia }
  const waiting: unknown[] = [request['system'], request['messages'], request['input']]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) for (const item of value) waiting.push(item)
    else if (isRecord(value)) {
      note(value, found)
      // The input of a tool call is not searched: it is text to the model, whatever it looks like.
      waiting.push(value['content'], value['output'], recordOf(value['source'])['content'])
      // An earlier answer in audio is input by its id.
      if (value['role'] === 'assistant' && isRecord(value['audio'])) {
        found.hasAudio = true
        found.fillsWindow = true
      }
    }
  }
  return found
}

function note(block: Json, found: Media): void {
  const type = String(block['type'])
  if (imageTypes.has(type)) {
    found.images++
    found.dataBytes += dataIn(block)
  } else if (audioTypes.has(type)) {
    const data = recordOf(block['input_audio'])['data']
    const bytes = isBase64(data) ? data.length : 0
    found.hasAudio = true
    found.audioBytes += bytes
    found.dataBytes += bytes
  } else if (documentTypes.has(type) && !isOfText(block)) {
    found.fillsWindow = true
    found.dataBytes += dataIn(block)
  }
}

/** Reports whether the body holds a document's text as plain text. */
const isOfText = ({ source }: Json): boolean => ['text', 'content'].includes(String(recordOf(source)['type']))

/** Returns the length of the base64 text in an image or a document; 0 for an external one. */
function dataIn({ source, image_url: image, file, file_data: fileData }: Json): number {
  const url = isRecord(image) ? image['url'] : image
  const places = [recordOf(source)['data'], url, recordOf(file)['file_data'], fileData]
  return places.reduce((sum: number, text) => sum + (isBase64(text) ? text.length : 0), 0)
}

/** Only data that no model reads as text may be subtracted. */
const isBase64 = (text: unknown): text is string =>
  typeof text === 'string' && /^(?:data:[\w.+/-]*;base64,)?[A-Za-z0-9+/_=-]*$/.test(text)

/** Finds the media in parts, also in the parts of function results, which nest no deeper. */
function geminiMediaIn(request: Json): Media {
  const parts = recordsOf(request['contents']).flatMap(({ parts: list }) => (isRecord(list) ? [list] : recordsOf(list)))
  const inner = parts.flatMap(part => recordsOf(objectField(part, 'functionResponse')['parts']))
  const found = { ...noMedia }
  for (const part of [...parts, ...inner]) {
    const inline = field(part, 'inlineData')
    const type = isRecord(inline) ? textIn(field(inline, 'mimeType')) : undefined
    const file = field(part, 'fileData')
    if (isRecord(file)) {
      found.fillsWindow = true
      found.hasAudio ||= !isWithoutAudio(textIn(field(file, 'mimeType')))
    }
    if (!isRecord(inline) || type?.startsWith('text/')) continue
    if (isBase64(inline['data'])) found.dataBytes += inline['data'].length
    if (type?.startsWith('image/')) found.images++
    else {
      found.fillsWindow = true
      found.hasAudio ||= !isWithoutAudio(type)
    }
  }
  return found
}

const isWithoutAudio = (type: string | undefined): boolean => /^(image|text|application)\//.test(type ?? '')
