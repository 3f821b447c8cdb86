// What several clients write in the same way.

const schemaOf = ({ argument }) => ({
  type: 'object',
  properties: { [argument]: { type: 'string' } },
  required: [argument],
  additionalProperties: false,
})

/** A tool of Chat Completions. */
export const asChatTool = tool => ({
  type: 'function',
  function: { name: tool.name, description: tool.description, parameters: schemaOf(tool) },
})

/** A tool of Responses. */
export const asResponseTool = tool => ({
  type: 'function',
  name: tool.name,
  description: tool.description,
  parameters: schemaOf(tool),
  strict: true,
})

/** A declaration of Gemini. */
export const asDeclaration = tool => ({
  name: tool.name,
  description: tool.description,
  parametersJsonSchema: schemaOf(tool),
})

export const imageUrl = png => `data:image/png;base64,${png}`
