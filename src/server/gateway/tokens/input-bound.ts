import { countOf, isRecord, type Json, listOf, recordOf, recordsOf, textIn } from '../../platform/json.ts'
import { type OwnMembers, outlineAt } from '../bytes/json-members.ts'
import { openText, type Span } from '../bytes/json-scanner.ts'
import { type Call, isBedrock, type Units } from '../core/call.ts'
import { parsedObject } from '../core/request-checks.ts'
import { documentTypes, imageTypes, wordBits } from '../core/request-words.ts'
import { field, objectField } from '../formats/gemini/fields.ts'

/** What a request body can cost in input at most, as far as the body alone tells. */
export interface InputBound {
  /** Bytes that a model may read as text. A text token is at least one byte. */
  readonly textBytes: number
  readonly images: number
  /** Calls of tools that the provider runs; what they find is input too. */
  readonly providerCalls: number
  /** Those of them that providers charge a fee for. */
  readonly toolCalls: Units
  /** Tools with instructions of the provider's own, which are input. */
  readonly tools: number
  /** True when it refers to what is not in it, such as a document: only the model's own window bounds that. */
  readonly fillsWindow: boolean
  /** How many answers are asked for. */
  readonly answers: number
}

/**
 * Bounds the input of a request in any of the clients' formats. The bytes of the body bound its text; only the data of
 * images and documents is taken out, and counted by what it is. A body in which the scan met no such thing is not parsed. A tool
 * that the provider runs counts `defaultUses` calls where the request does not limit it. Source: Gateway, section 4.
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
    fillsWindow: media.fillsWindow || rest.fillsWindow,
  }
}

/**
 * Bedrock's own formats have a shape for each family of models: all bytes count as text, those of images too, and what stands
 * elsewhere fills the window.
 */
function bedrockBound(body: Buffer, members: OwnMembers | undefined, defaultUses: number): InputBound {
  const isElsewhere = ['s3Location', 's3Uri', 'document'].some(name => body.includes(`"${name}"`))
  const runsTools = body.includes('"systemTool"') || body.includes('"web_search')
  return {
    textBytes: body.length,
    images: 0,
    providerCalls: runsTools ? defaultUses : 0,
    toolCalls: {},
    tools: runsTools ? 1 : 0,
    fillsWindow: isElsewhere || members?.hasEscapedLetter === true,
    answers: 1,
  }
}

interface Media {
  images: number
  dataBytes: number
  fillsWindow: boolean
}

type Rest = Omit<InputBound, 'textBytes' | 'images'>

/** Of nearly all requests without tools. */
const nothingElse: Rest = {
  providerCalls: 0,
  toolCalls: { web_search: 0, web_search_preview: 0, file_search: 0, code_container: 0 },
  tools: 0,
  fillsWindow: false,
  answers: 1,
}

const noMedia: Media = { images: 0, dataBytes: 0, fillsWindow: false }

/** Up to this length a value is parsed sooner than looked through. */
const shortBytes = 4_096

const parsedAt = (body: Buffer, { start, end }: Span): unknown => JSON.parse(body.toString('utf8', start, end))

/** The members that the scan has found, as far as bounds read them. */
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
  const mostCalls = countOf(request['max_tool_calls']) ?? Number.POSITIVE_INFINITY
  const usesOf = ({ max_uses: most }: Json): number => countOf(most) ?? Math.min(defaultUses, mostCalls)
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
    fillsWindow: outsideFields.some(name => isSaid(request[name])),
    answers: Math.max(1, countOf(request['n']) ?? 1),
  }
}

/** True for OpenAI's earlier tool for searches, with or without a date in its type. */
export const isSearchPreview = ({ type }: Json): boolean => String(type).startsWith('web_search_preview')

/** Google's format has no limit for calls of the provider's tools. */
function geminiRest(request: Json, usesEach: number): Rest {
  const providerTools = recordsOf(request['tools']).flatMap(tool =>
    Object.keys(tool).filter(name => name !== 'functionDeclarations' && name !== 'function_declarations'),
  )
  return {
    providerCalls: providerTools.length * usesEach,
    toolCalls: { web_search: providerTools.filter(name => /^google_?search/i.test(name)).length * usesEach },
    tools: providerTools.length,
    fillsWindow: textIn(field(request, 'cachedContent')) !== undefined,
    answers: Math.max(1, countOf(field(objectField(request, 'generationConfig'), 'candidateCount')) ?? 1),
  }
}

/** Fields that stand for earlier input, kept by the provider. */
const outsideFields = ['previous_response_id', 'conversation', 'prompt', 'container'] as const

/** Besides the conversation, what bounds read of a body; those of Google's format are its own. */
export const boundFields = [
  ...(['tools', 'max_tool_calls', 'web_search_options', 'mcp_servers', 'n'] as const),
  ...outsideFields,
] as const
const allBoundFields: ReadonlySet<string> = new Set([
  ...boundFields,
  'generationConfig',
  'generation_config',
  'cachedContent',
  'cached_content',
])

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

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

/** What a conversation holds that is not text. Walks with a list of its own, not by recursion: depth is the sender's choice. */
function mediaIn(request: Json): Media {
  const found = { ...noMedia }
  const waiting: unknown[] = [request['system'], request['messages'], request['input']]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) for (const item of value) waiting.push(item)
    else if (isRecord(value)) {
      note(value, found)
      // What a tool is called with may look like anything, and is text to the model.
      waiting.push(value['content'], value['output'], recordOf(value['source'])['content'])
    }
  }
  return found
}

function note(block: Json, found: Media): void {
  const type = String(block['type'])
  if (imageTypes.has(type)) {
    found.images++
    found.dataBytes += dataIn(block)
  } else if (documentTypes.has(type) && !isOfText(block)) {
    found.fillsWindow = true
    found.dataBytes += dataIn(block)
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

/** What parts hold that no model reads as text. Results of functions have parts of their own, and no deeper ones. */
function geminiMediaIn(request: Json): Media {
  const parts = recordsOf(request['contents']).flatMap(({ parts: list }) => (isRecord(list) ? [list] : recordsOf(list)))
  const inner = parts.flatMap(part => recordsOf(objectField(part, 'functionResponse')['parts']))
  const found = { ...noMedia }
  for (const part of [...parts, ...inner]) {
    const inline = field(part, 'inlineData')
    const type = isRecord(inline) ? textIn(field(inline, 'mimeType')) : undefined
    if (isRecord(field(part, 'fileData'))) found.fillsWindow = true
    if (!isRecord(inline) || type?.startsWith('text/')) continue
    if (isBase64(inline['data'])) found.dataBytes += inline['data'].length
    if (type?.startsWith('image/')) found.images++
    else found.fillsWindow = true
  }
  return found
}
