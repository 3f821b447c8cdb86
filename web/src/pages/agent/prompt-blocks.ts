/** A prompt without its skills, and the blocks of the skills at its end. */
interface SplitPrompt {
  readonly own: string
  readonly skills: string
}

const firstBlock = /\n\n<!-- skill:[A-Za-z0-9_-]{1,200} -->(?=\n|$)/

/** Splits a prompt before the block of its first skill. Joined, both parts are the prompt. */
export function splitPrompt(system: string): SplitPrompt {
  const at = firstBlock.exec(system)?.index ?? system.length
  return { own: system.slice(0, at), skills: system.slice(at) }
}

const bytesPerToken = 3.5

/** Estimates the tokens of a text by its bytes, as the service does. */
export const estimatedTokens = (text: string): number =>
  Math.ceil(new TextEncoder().encode(text).length / bytesPerToken)
