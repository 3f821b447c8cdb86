import { type Fields, parseJson, recordOf } from '../../../data/json.ts'
import { type Block, listOf, type PlaygroundForm, type Turn, textOf, thinkingKinds } from './form.ts'

/** Content of a call as a loader of one format returns it. */
export interface LoadedContent {
  readonly system: string
  readonly turns: readonly LooseTurn[]
  readonly settings: Partial<PlaygroundForm>
  /** Fields that the form has no place for. */
  readonly rest: Fields
  readonly notes: readonly string[]
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** Returns settings that all formats have, from where each has them. */
export const settingsOf = (found: {
  readonly maxTokens: unknown
  readonly temperature: unknown
  readonly effort: unknown
  readonly schema: unknown
}): Partial<PlaygroundForm> => ({
  maxTokens: numberOf(found.maxTokens),
  temperature: numberOf(found.temperature),
  effort: textOf(found.effort),
  schema: found.schema === undefined ? '' : JSON.stringify(found.schema, null, 2),
  thinking: 'default',
})

/** Returns the setting of thinking of Messages. */
export function thinkingOf(value: unknown): Partial<PlaygroundForm> {
  const { type, budget_tokens: budget } = recordOf(value)
  const thinking = thinkingKinds.find(kind => kind === type) ?? 'default'
  return { thinking, ...(typeof budget === 'number' && { thinkingBudget: budget }) }
}

/** Returns the fields without some of them, and without those that are null. */
export const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !names.includes(name) && value !== null))

/** Returns an object, or nothing for one without fields. */
export const whenFilled = (name: string, fields: Fields): Fields =>
  Object.keys(fields).length === 0 ? {} : { [name]: fields }

/** Returns an image block for the address of an image; addresses of other hosts stay addresses. */
export function imageBlock(url: string): Block {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  if (mediaType === undefined || data === undefined) return { type: 'image', source: { type: 'url', url } }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

/** Returns a call of a function as a block. */
export const toolUse = (id: unknown, name: unknown, input: unknown): Block => ({
  type: 'tool_use',
  id: textOf(id),
  name: textOf(name),
  input: recordOf(parseJson(textOf(input)).value),
})

/** Returns the result of a function as a block. */
export const toolResult = (id: unknown, output: unknown): Block => ({
  type: 'tool_result',
  tool_use_id: textOf(id),
  content: typeof output === 'string' ? output : textOfParts(output),
})

/** Joins the texts of the parts of a content. */
export const textOfParts = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map(part => textOf(recordOf(part)['text']))
        .filter(text => text !== '')
        .join('\n\n')

/** Parts of OpenAI's formats as blocks, and the types of those that the form has no place for. */
export function readParts(content: unknown): {
  readonly blocks: readonly Block[]
  readonly unknown: readonly string[]
} {
  if (typeof content === 'string')
    return { blocks: content === '' ? [] : [{ type: 'text', text: content }], unknown: [] }
  const blocks: Block[] = []
  const unknown: string[] = []
  for (const part of listOf(content).map(recordOf)) {
    const block = blockOf(part)
    if (block) blocks.push(block)
    else unknown.push(textOf(part['type']))
  }
  return { blocks, unknown }
}

function blockOf(part: Fields): Block | undefined {
  switch (part['type']) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: textOf(part['text']) }
    case 'refusal':
      return { type: 'text', text: textOf(part['refusal']) }
    case 'image_url':
      return imageBlock(textOf(recordOf(part['image_url'])['url']))
    case 'input_image':
      return typeof part['image_url'] === 'string' ? imageBlock(part['image_url']) : undefined
    default:
      return undefined
  }
}

type LooseTurn = Omit<Turn, 'id'>

/** Joins turns of one role that follow each other, as calls and results of OpenAI's formats do. */
export function joined(turns: readonly LooseTurn[]): readonly LooseTurn[] {
  const done: LooseTurn[] = []
  for (const { role, content } of turns.filter(turn => turn.content.length > 0)) {
    const last = done.at(-1)
    if (last?.role === role) done.splice(-1, 1, { role, content: [...last.content, ...content] })
    else done.push({ role, content })
  }
  return done
}

/** Sentences about types of content that are left out. */
export const leftOutTypes = (types: readonly string[]): readonly string[] =>
  [...new Set(types)].map(type => `Content of type ${type} is left out.`)
