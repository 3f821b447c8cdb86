// Google's `@google/genai`.
import { GoogleGenAI } from '@google/genai'
import { asDeclaration } from './shared.mjs'

const clientOf = ({ url, key }) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
const thinking = { thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 } }

async function streamed({ target, contents, config }) {
  const stream = await clientOf(target).models.generateContentStream({ model: target.model, contents, config })
  const found = { text: '', reasoning: '', pieces: 0 }
  for await (const { candidates } of stream) {
    for (const { text = '', thought } of candidates?.[0]?.content?.parts ?? []) {
      if (thought) found.reasoning += text
      else found.text += text
      if (!thought && text !== '') found.pieces++
    }
  }
  return found
}

export const genai = {
  stream: (target, contents) => streamed({ target, contents }),
  reasoning: (target, contents) => streamed({ target, contents, config: thinking }),
  async tools(target, prompt, tool) {
    const config = { ...thinking, tools: [{ functionDeclarations: [asDeclaration(tool)] }] }
    const chat = clientOf(target).chats.create({ model: target.model, config })
    const calls = []
    for await (const { functionCalls } of await chat.sendMessageStream({ message: prompt }))
      calls.push(...(functionCalls ?? []))
    const message = calls.map(({ id, name, args }) => ({
      functionResponse: { id, name, response: { output: tool.execute(args) } },
    }))
    const { text } = await chat.sendMessage({ message })
    return { text }
  },
  async image(target, prompt, png) {
    const parts = [{ text: prompt }, { inlineData: { mimeType: 'image/png', data: png } }]
    const { text } = await clientOf(target).models.generateContent({
      model: target.model,
      contents: [{ role: 'user', parts }],
    })
    return { text }
  },
}
