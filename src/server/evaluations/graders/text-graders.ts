import type { GraderOf } from '../../../contract/graders.ts'
import { isRecord, jsonOr } from '../../platform/json.ts'
import type { ResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import { failed, GraderError, passed, type Verdict } from './graded.ts'

type Mismatch = ResultSchemas['mismatch']
type IsMatch = ResultSchemas['isMatch']

const folded = (text: string, ignoreCase: boolean | undefined): string => (ignoreCase ? text.toLowerCase() : text)

/** Compares the answer with a text, without white space at both ends. */
export function gradeExact({ value, ignore_case }: GraderOf<'exact'>, answer: string): Verdict {
  const isEqual = folded(answer.trim(), ignore_case) === folded(value.trim(), ignore_case)
  return isEqual ? passed : failed('the answer differs from the value')
}

/** Searches a text in the answer. */
export function gradeContains({ value, ignore_case }: GraderOf<'contains'>, answer: string): Verdict {
  const isFound = folded(answer, ignore_case).includes(folded(value, ignore_case))
  return isFound ? passed : failed('the answer does not contain the value')
}

/** Part of the message of the schema check about a value that took too long. */
const tooLong = 'it takes too long to check'

/** Searches a match in the answer, in a separate thread, because that can take unlimited time. */
export async function gradeRegex({ pattern }: GraderOf<'regex'>, answer: string, isMatch: IsMatch): Promise<Verdict> {
  const found = await isMatch(pattern, answer)
  if (found === undefined) throw new GraderError('the pattern takes too long on this answer; make it simpler')
  return found ? passed : failed('the answer does not match the pattern')
}

/** Reads the answer as JSON and checks it. */
export async function gradeSchema(
  { schema }: GraderOf<'json_schema'>,
  answer: string,
  mismatch: Mismatch,
): Promise<Verdict> {
  const invalid = Symbol('invalid')
  const value = jsonOr(answer, invalid)
  if (value === invalid) return failed('the answer is not JSON')
  if (!isRecord(schema)) throw new GraderError('schema is not an object')
  const problem = await mismatch(schema, value)
  if (problem === tooLong) throw new GraderError('the schema takes too long on this answer; make it simpler')
  return problem === undefined ? passed : failed(problem)
}
