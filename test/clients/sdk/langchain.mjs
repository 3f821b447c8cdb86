// LangChain's models of OpenAI (both formats) and of Anthropic.
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool as toolOf } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { imageUrl } from './shared.mjs'

const textOf = message => (typeof message.content === 'string' ? message.content : message.text)

const reasoningOf = message =>
  message.additional_kwargs.reasoning_content ??
  message.contentBlocks.flatMap(block => (block.type === 'reasoning' ? [block.reasoning] : [])).join('')

async function streamed(model, prompt) {
  let whole
  let pieces = 0
  for await (const chunk of await model.stream(prompt)) {
    whole = whole ? whole.concat(chunk) : chunk
    if (textOf(chunk) !== '') pieces++
  }
  return { text: textOf(whole), reasoning: reasoningOf(whole), pieces }
}

/** `modelOf` creates LangChain’s model of a target, with reasoning if requested. */
const withModel = modelOf => ({
  stream: (target, prompt) => streamed(modelOf(target), prompt),
  reasoning: (target, prompt) => streamed(modelOf(target, 'reasoning'), prompt),
  async tools(target, prompt, { name, description, argument, execute }) {
    const schema = z.object({ [argument]: z.string() })
    const offered = toolOf(execute, { name, description, schema })
    const model = modelOf(target, 'reasoning').bindTools([offered])
    const messages = [new HumanMessage(prompt)]
    const first = await model.invoke(messages)
    messages.push(first)
    for (const { id, args } of first.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: id, content: execute(args) }))
    return { text: textOf(await model.invoke(messages)) }
  },
  async image(target, prompt, png) {
    const content = [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: imageUrl(png) } },
    ]
    return { text: textOf(await modelOf(target).invoke([new HumanMessage({ content })])) }
  },
})

const openaiOf = ({ url, key, model }, settings) =>
  new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: `${url}/v1` }, maxRetries: 0, ...settings })

export const langchainOpenaiChat = withModel((target, reasoning) =>
  openaiOf(target, reasoning && { modelKwargs: { reasoning_effort: 'high' } }),
)

export const langchainOpenaiResponses = withModel((target, reasoning) =>
  openaiOf(target, {
    useResponsesApi: true,
    ...(reasoning && { modelKwargs: { reasoning: { effort: 'high', summary: 'auto' } } }),
  }),
)

export const langchainAnthropic = withModel(
  ({ url, key, model }, reasoning) =>
    new ChatAnthropic({
      model,
      apiKey: key,
      anthropicApiUrl: url,
      maxRetries: 0,
      maxTokens: 4_000,
      ...(reasoning && { thinking: { type: 'enabled', budget_tokens: 2_000 } }),
    }),
)
