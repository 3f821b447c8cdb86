import { jsonAnswer, type Kind, kinds, messagesBaseOf, messagesFrames, paceMs, promptEvents } from '../exchange.ts'
import type { Answer } from '../upstream/upstream.ts'
import { chatAnswer, chatBaseOf, chatFrames } from './chat-exchange.ts'

const pauses: Readonly<Record<Kind, Pick<Answer, 'pauseMs' | 'pausedEvent'>>> = {
  json: {},
  burst: { pauseMs: 0 },
  paced: { pauseMs: paceMs },
  prompt: { pauseMs: paceMs, pausedEvent: promptEvents },
}

/** Every kind of answer in both formats; a base address for each. */
export const upstreamAnswers = (): Answer[] =>
  kinds.flatMap(kind => {
    const isJson = kind === 'json'
    const messages = isJson ? jsonAnswer : messagesFrames().join('')
    const chat = isJson ? chatAnswer : [...chatFrames()].join('')
    return [
      { path: `${messagesBaseOf(kind)}/v1/messages`, body: messages, ...pauses[kind] },
      { path: `${chatBaseOf(kind)}/chat/completions`, body: chat, ...pauses[kind] },
    ]
  })
