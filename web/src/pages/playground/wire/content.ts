import { type Fields, recordOf } from '../../../data/json.ts'
import { type Block, type Format, isBlock, listOf, type Turn, textOf, textOfBlocks } from './form.ts'

const carried: readonly string[] = ['text', 'image', 'tool_use', 'tool_result']
const thinking: readonly string[] = ['thinking', 'redacted_thinking']

/** Returns why a turn cannot be sent in a format; undefined when it can. */
export function turnProblem({ content }: Turn, format: Format): string | undefined {
  if (format === 'messages') return undefined
  const other = content.find(({ type }) => !carried.includes(type) && !thinking.includes(type))
  if (other) return `has a block of type ${other.type}, which the playground sends only as Messages`
  const isPlain = content.filter(({ type }) => type === 'tool_result').every(block => isText(block['content']))
  return isPlain ? undefined : 'has a tool result with more than text, which the playground sends only as Messages'
}

/** True for a turn whose thinking the format leaves out. */
export const losesThinking = ({ content }: Turn, format: Format): boolean =>
  format !== 'messages' && content.some(({ type }) => thinking.includes(type))

const isText = (value: unknown): boolean =>
  value === undefined || typeof value === 'string' || listOf(value).every(each => recordOf(each)['type'] === 'text')

/** Returns the text of a tool result, whose content is a text or a list of blocks. */
export const resultText = ({ content }: Block): string =>
  typeof content === 'string' ? content : textOfBlocks(listOf(content).filter(isBlock))

/** The messages of a request in Anthropic's format. */
export const messagesOf = (turns: readonly Turn[]): readonly Fields[] =>
  turns.map(({ role, content }) => {
    const [only] = content
    const isPlain = content.length === 1 && only?.type === 'text' && Object.keys(only).length === 2
    return { role, content: isPlain ? textOf(only['text']) : content }
  })

/** The messages of a chat. Results of tools are messages before the text of their turn. */
export const chatMessagesOf = (turns: readonly Turn[]): readonly Fields[] =>
  turns.flatMap(({ role, content }) => {
    const results = content
      .filter(({ type }) => type === 'tool_result')
      .map(block => ({ role: 'tool', tool_call_id: block['tool_use_id'], content: resultText(block) }))
    const calls = callsOf(content).map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: input },
    }))
    const images = imagesOf(content).map(url => ({ type: 'image_url', image_url: { url } }))
    const text = textOfBlocks(content)
    if (text === '' && images.length === 0 && calls.length === 0) return results
    const parts = [...(text === '' ? [] : [{ type: 'text', text }]), ...images]
    const message = {
      role,
      content: images.length === 0 ? (text === '' ? null : text) : parts,
      ...(calls.length > 0 && { tool_calls: calls }),
    }
    return [...results, message]
  })

/** The input of a response. */
export const inputOf = (turns: readonly Turn[]): readonly Fields[] =>
  turns.flatMap(({ role, content }) => {
    const results = content
      .filter(({ type }) => type === 'tool_result')
      .map(block => ({ type: 'function_call_output', call_id: block['tool_use_id'], output: resultText(block) }))
    const calls = callsOf(content).map(({ id, name, input }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: input,
    }))
    const text = textOfBlocks(content)
    const textType = role === 'user' ? 'input_text' : 'output_text'
    const parts = [
      ...(text === '' ? [] : [{ type: textType, text }]),
      ...imagesOf(content).map(url => ({ type: 'input_image', image_url: url })),
    ]
    return [...results, ...(parts.length === 0 ? [] : [{ role, content: parts }]), ...calls]
  })

const callsOf = (content: readonly Block[]) =>
  content
    .filter(({ type }) => type === 'tool_use')
    .map(block => ({
      id: textOf(block['id']),
      name: textOf(block['name']),
      input: JSON.stringify(block['input'] ?? {}),
    }))

const imagesOf = (content: readonly Block[]): readonly string[] =>
  content.filter(({ type }) => type === 'image').map(block => imageUrl(recordOf(block['source'])))

const imageUrl = ({ type, url, media_type: mediaType, data }: Fields): string =>
  type === 'url' ? textOf(url) : `data:${textOf(mediaType)};base64,${textOf(data)}`
