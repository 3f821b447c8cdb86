// The `openai` package, with both of its formats.
import OpenAI from 'openai'
import { asChatTool, asResponseTool, imageUrl } from './shared.mjs'

const clientOf = ({ url, key }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
const said = content => [{ role: 'user', content }]

async function streamChat(target, prompt, settings = {}) {
  const stream = await clientOf(target).chat.completions.create({
    model: target.model,
    stream: true,
    messages: said(prompt),
    ...settings,
  })
  const found = { text: '', reasoning: '', pieces: 0 }
  for await (const { choices } of stream) {
    const { content, reasoning_content: reasoning } = choices[0]?.delta ?? {}
    found.text += content ?? ''
    found.reasoning += reasoning ?? ''
    if (content) found.pieces++
  }
  return found
}

export const openaiChat = {
  stream: streamChat,
  reasoning: (target, prompt) => streamChat(target, prompt, { reasoning_effort: 'high' }),
  async tools(target, prompt, tool) {
    const client = clientOf(target)
    const request = { model: target.model, reasoning_effort: 'high', tools: [asChatTool(tool)] }
    const messages = said(prompt)
    const first = await client.chat.completions.stream({ ...request, messages }).finalChatCompletion()
    const { message } = first.choices[0]
    messages.push(message)
    for (const { id, function: called } of message.tool_calls ?? [])
      messages.push({ role: 'tool', tool_call_id: id, content: tool.execute(JSON.parse(called.arguments)) })
    const second = await client.chat.completions.create({ ...request, messages })
    return { text: second.choices[0].message.content }
  },
  async image(target, prompt, png) {
    const content = [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: imageUrl(png) } },
    ]
    const answer = await clientOf(target).chat.completions.create({ model: target.model, messages: said(content) })
    return { text: answer.choices[0].message.content }
  },
}

async function streamResponse(target, input, settings = {}) {
  const stream = clientOf(target).responses.stream({ model: target.model, input, ...settings })
  let pieces = 0
  stream.on('response.output_text.delta', () => pieces++)
  const { output_text: text, output } = await stream.finalResponse()
  const summaries = output.flatMap(item => (item.type === 'reasoning' ? item.summary : []))
  return { text, pieces, reasoning: summaries.map(summary => summary.text).join('') }
}

export const openaiResponses = {
  stream: streamResponse,
  reasoning: (target, prompt) =>
    streamResponse(target, prompt, { reasoning: { effort: 'high', summary: 'auto' }, store: false }),
  // The second turn has only the result: the gateway knows the conversation before it.
  async tools(target, prompt, tool) {
    const client = clientOf(target)
    const request = { model: target.model, reasoning: { effort: 'high' }, tools: [asResponseTool(tool)] }
    const first = await client.responses.stream({ ...request, input: prompt }).finalResponse()
    const input = first.output.flatMap(item =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: tool.execute(JSON.parse(item.arguments)) }]
        : [],
    )
    const second = await client.responses.create({ ...request, input, previous_response_id: first.id })
    return { text: second.output_text }
  },
  async image(target, prompt, png) {
    const content = [
      { type: 'input_text', text: prompt },
      { type: 'input_image', image_url: imageUrl(png), detail: 'auto' },
    ]
    const answer = await clientOf(target).responses.create({ model: target.model, input: said(content) })
    return { text: answer.output_text }
  },
}
