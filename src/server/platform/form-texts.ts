import { invalid } from './errors.ts'
import type { FormPart } from './form-parts.ts'

const maxTextBytes = 1_000
const maxTexts = 50

/** Reads a text field of a form into `texts`. Throws `invalid_request` for a long or repeated one, and for too many. */
export async function addText(texts: Map<string, string>, { name, content }: FormPart): Promise<void> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of content) {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length > maxTextBytes) throw invalid(`form field ${name.slice(0, 64)} exceeds ${maxTextBytes} bytes`)
  }
  if (texts.has(name)) throw invalid(`form field ${name.slice(0, 64)} is given twice`)
  if (texts.size === maxTexts) throw invalid(`the form has more than ${maxTexts} fields`)
  texts.set(name, bytes.toString())
}
