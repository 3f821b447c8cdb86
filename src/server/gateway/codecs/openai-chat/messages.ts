import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, textOf } from '../../../platform/json.ts'
import { assistantMessage, joinedAssistant } from './assistant.ts'
import {
  blocksOf,
  type ChatMessage,
  type Conversion,
  contentOf,
  joinedText,
  loseCacheControl,
  partsOf,
} from './content.ts'
import { toolResult } from './tool-results.ts'

/**
 * The conversation in Chat's form. Tool messages stand right behind the calls that they answer, whatever came between;
 * what they cannot hold follows in a user message.
 */
export function chatMessages(request: Json, conversion: Conversion): readonly ChatMessage[] {
  const messages: ChatMessage[] = systemMessages(request['system'], 'system', conversion)
  let resultsAt = messages.length
  for (const [index, message] of listOf(request['messages']).entries()) {
    const path = `messages.${index}`
    if (!isRecord(message)) throw invalid(`${path} must be an object`)
    const content = `${path}.content`
    switch (message['role']) {
      case 'system':
        messages.push(...systemMessages(message['content'], content, conversion))
        break
      case 'assistant':
        addAssistant(messages, assistantMessage(blocksOf(message['content'], content), conversion))
        resultsAt = messages.length
        break
      case 'user': {
        const { results, rest } = userTurn(message['content'], content, conversion)
        messages.splice(resultsAt, 0, ...results)
        messages.push(...rest)
        resultsAt += results.length
        break
      }
      default:
        throw invalid(`${path}.role must be user, assistant or system`)
    }
  }
  return messages
}

/** One message of all the texts, in order; none without text. */
function systemMessages(content: unknown, path: string, conversion: Conversion): ChatMessage[] {
  if (content == null) return []
  const texts = blocksOf(content, path).map(placed => {
    loseCacheControl(placed, conversion)
    if (placed.block['type'] !== 'text') conversion.lose(placed.path, 'dropped')
    return textOf(placed.block['text'])
  })
  const text = joinedText(texts)
  return text === '' ? [] : [{ role: 'system', content: text }]
}

/** Two assistant turns in a row are one: else the results of the first would not follow their calls. */
function addAssistant(messages: ChatMessage[], message: ChatMessage | undefined): void {
  if (!message) return
  const last = messages.at(-1)
  if (last?.role === 'assistant') messages[messages.length - 1] = joinedAssistant(last, message)
  else messages.push(message)
}

interface UserTurn {
  readonly results: readonly ChatMessage[]
  readonly rest: readonly ChatMessage[]
}

function userTurn(content: unknown, path: string, conversion: Conversion): UserTurn {
  if (typeof content === 'string') return { results: [], rest: [{ role: 'user', content }] }
  const blocks = blocksOf(content, path)
  const results = blocks.filter(isResult).map(placed => toolResult(placed, conversion))
  const said = blocks.filter(placed => !isResult(placed)).flatMap(placed => partsOf(placed, conversion))
  const parts = [...results.flatMap(({ moved }) => moved), ...said]
  return {
    results: results.map(({ message }) => message),
    rest: parts.length === 0 ? [] : [{ role: 'user', content: contentOf(parts) }],
  }
}

const isResult = ({ block }: { readonly block: Json }): boolean => block['type'] === 'tool_result'
