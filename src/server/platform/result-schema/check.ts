import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type CheckTask, noMatch, type PatternTask, type SchemaTask } from './check-task.ts'

/** Unknown keywords and formats are hints for the model and are not validated. */
const options = { strict: false, allErrors: false, validateFormats: false, logger: false } as const
const oldDrafts = /draft-0[3-7]\//

/** Does a task. Both kinds may take unlimited time, so this must run in a separate thread. */
export const problemOf = (task: CheckTask): string | undefined =>
  'pattern' in task ? problemOfText(task) : problemOfSchema(task)

const problemOfText = ({ pattern, text }: PatternTask): string | undefined =>
  new RegExp(pattern, 'u').test(text) ? undefined : noMatch

/**
 * Returns the problem of a schema, to follow its name in a message, or of a value, as a whole message; undefined if
 * there is none.
 */
function problemOfSchema({ schema: text, value }: SchemaTask): string | undefined {
  try {
    const schema = JSON.parse(text) as Readonly<Record<string, unknown>>
    const isOld = oldDrafts.test(String(schema['$schema'] ?? ''))
    const ajv = isOld ? new Ajv(options) : new Ajv2020(options)
    const validate = ajv.compile(schema)
    if ('$async' in validate) return 'has $async, which is not a JSON Schema keyword'
    if (value === undefined || validate(JSON.parse(value))) return undefined
    return wordsOf(validate.errors?.[0])
  } catch (error) {
    return `is not a valid JSON Schema: ${error instanceof Error ? error.message.slice(0, 300) : 'unknown error'}`
  }
}

/** Returns a message with path and requirement: `items[0].price must be number`. */
function wordsOf(error: ErrorObject | undefined): string {
  if (!error) return 'it does not match the schema'
  const { instancePath, message = 'is invalid', keyword, params } = error
  const path = instancePath
    .split('/')
    .slice(1)
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((before, name) => (/^\d+$/.test(name) ? `${before}[${name}]` : `${before}.${name}`), '')
  const extra = keyword === 'additionalProperties' ? ` ${JSON.stringify(params['additionalProperty'])}` : ''
  const allowed =
    keyword === 'enum' || keyword === 'const'
      ? ` ${JSON.stringify(params['allowedValues'] ?? params['allowedValue'])}`
      : ''
  const where = path === '' ? 'it ' : `${path.replace(/^\./, '')} `
  return `${where}${message}${extra}${allowed}`.slice(0, 500)
}
