// The OpenAI Agents SDK, which speaks Responses.
import { Agent, OpenAIProvider, Runner, tool as toolOf } from '@openai/agents'
import { z } from 'zod'
import { imageUrl } from './shared.mjs'

const runnerOf = ({ url, key }) =>
  new Runner({
    modelProvider: new OpenAIProvider({ apiKey: key, baseURL: `${url}/v1` }),
    tracingDisabled: true,
  })

const agentOf = ({ model }, settings) => new Agent({ name: 'assistant', model, ...settings })
const thinking = { modelSettings: { reasoning: { effort: 'high', summary: 'auto' } } }

async function streamed(target, prompt, settings) {
  const result = await runnerOf(target).run(agentOf(target, settings), prompt, { stream: true })
  let pieces = 0
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') pieces++
  const items = result.newItems.filter(item => item.type === 'reasoning_item')
  const reasoning = items.flatMap(({ rawItem }) => rawItem.content.map(({ text }) => text)).join('')
  return { text: result.finalOutput, reasoning, pieces }
}

export const openaiAgents = {
  stream: streamed,
  reasoning: (target, prompt) => streamed(target, prompt, thinking),
  tools(target, prompt, { name, description, argument, execute }) {
    const offered = toolOf({ name, description, parameters: z.object({ [argument]: z.string() }), execute })
    return streamed(target, prompt, { ...thinking, tools: [offered] })
  },
  image(target, prompt, png) {
    const content = [
      { type: 'input_text', text: prompt },
      { type: 'input_image', image: imageUrl(png) },
    ]
    return streamed(target, [{ role: 'user', content }])
  },
}
