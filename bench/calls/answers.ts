import { answerText, jsonAnswer, messagesFrames, paceMs } from '../exchange.ts'
import { chatAnswer } from '../gateway/chat-exchange.ts'
import type { Answer } from '../upstream/upstream.ts'

/** Upstream models by the protocol of their deployment. */
export const upstreamModels = { messages: 'claude-sonnet-4-5', chat: 'gpt-4.1', gemini: 'gemini-2.5-pro' } as const

/** Paths of the upstream: their first part decides between one body, a paced stream and a stream without pauses. */
export const upstreamPaths = {
  whole: '/whole/v1/messages',
  paced: '/paced/v1/messages',
  burst: '/burst/v1/messages',
  chat: '/whole/v1/chat/completions',
  gemini: `/burst/v1beta/models/${upstreamModels.gemini}:streamGenerateContent`,
} as const
export type UpstreamPath = keyof typeof upstreamPaths

/** What every answer must contain when it has reached the client, whatever its format: the first words of the text. */
export const expectedText: Readonly<Record<UpstreamPath, string>> = {
  whole: answerText,
  chat: answerText,
  gemini: 'All is well.',
  paced: 'n0094t',
  burst: 'n0094t',
}

const geminiEvents = 8

/** An answer of about 1 KB of text in a few large events, as Gemini sends them. */
function geminiStream(): string {
  const { length } = answerText
  const size = Math.ceil(length / geminiEvents)
  return Array.from({ length: geminiEvents }, (_, at) => {
    const text = answerText.slice(at * size, (at + 1) * size)
    const isLast = at === geminiEvents - 1
    const candidate = {
      content: { role: 'model', parts: [{ text }] },
      index: 0,
      ...(isLast && { finishReason: 'STOP' }),
    }
    const usageMetadata = { promptTokenCount: 75_000, candidatesTokenCount: 200, totalTokenCount: 75_200 }
    const chunk = { candidates: [candidate], usageMetadata, modelVersion: upstreamModels.gemini, responseId: 'bench' }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }).join('')
}

/** All that the upstream answers. */
export const upstreamAnswers = (): Answer[] => [
  { path: upstreamPaths.whole, body: jsonAnswer },
  { path: upstreamPaths.paced, body: messagesFrames().join(''), pauseMs: paceMs },
  { path: upstreamPaths.burst, body: messagesFrames().join(''), pauseMs: 0 },
  { path: upstreamPaths.chat, body: chatAnswer },
  { path: upstreamPaths.gemini, body: geminiStream(), pauseMs: 0 },
]
