// The Vercel AI SDK (`ai`) with each of its providers.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool as toolOf } from 'ai'
import { z } from 'zod'

async function streamed(settings) {
  let pieces = 0
  let failure
  const result = streamText({
    ...settings,
    maxRetries: 0,
    onError: ({ error }) => {
      failure = error
    },
    onChunk: ({ chunk }) => {
      if (chunk.type === 'text-delta') pieces++
    },
  })
  await result.consumeStream()
  if (failure) throw failure
  return { text: await result.text, reasoning: (await result.steps)[0].reasoningText ?? '', pieces }
}

/** `modelOf` makes the provider's model of a target; `thinking` are the options with which it asks for reasoning. */
const withProvider = (modelOf, thinking) => ({
  stream: (target, prompt) => streamed({ model: modelOf(target), prompt }),
  reasoning: (target, prompt) => streamed({ model: modelOf(target), prompt, providerOptions: thinking }),
  tools: (target, prompt, { name, description, argument, execute }) =>
    streamed({
      model: modelOf(target),
      prompt,
      providerOptions: thinking,
      tools: { [name]: toolOf({ description, inputSchema: z.object({ [argument]: z.string() }), execute }) },
      stopWhen: isStepCount(5),
    }),
  async image(target, prompt, png) {
    const content = [
      { type: 'text', text: prompt },
      { type: 'file', mediaType: 'image/png', data: png },
    ]
    const { text } = await generateText({
      model: modelOf(target),
      messages: [{ role: 'user', content }],
      maxRetries: 0,
    })
    return { text }
  },
})

export const aiOpenai = withProvider(
  ({ url, key, model }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(model),
  { openai: { forceReasoning: true, reasoningEffort: 'high', reasoningSummary: 'auto' } },
)

export const aiOpenaiCompatible = withProvider(
  ({ url, key, model }) =>
    createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey: key, includeUsage: true })(model),
  { gateway: { reasoningEffort: 'high' } },
)

export const aiAnthropic = withProvider(
  ({ url, key, model }) => createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
  { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } },
)

export const aiGoogle = withProvider(
  ({ url, key, model }) => createGoogle({ baseURL: `${url}/v1beta`, apiKey: key })(model),
  { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 } } },
)
