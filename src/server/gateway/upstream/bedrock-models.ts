/** What an id at Amazon Bedrock tells of its model. */
export interface BedrockModel {
  /** An ARN of the account's own, such as an application inference profile, counts as Claude: nothing tells. */
  readonly family: 'claude' | 'nova' | 'openai' | 'mistral' | 'meta' | 'deepseek' | 'other'
  /** Of Claude, as 405 for 4.5; undefined where the id does not tell. */
  readonly version: number | undefined
  /** Of Claude: `opus`, `sonnet`, `haiku` ... */
  readonly line: string | undefined
}

const families = [
  [/anthropic|claude/, 'claude'],
  [/amazon\.nova/, 'nova'],
  [/openai\./, 'openai'],
  [/mistral\./, 'mistral'],
  [/meta\./, 'meta'],
  [/deepseek\./, 'deepseek'],
] as const

/** Reads a model's id, the id of an inference profile or an ARN. */
export function bedrockModel(id: string): BedrockModel {
  const found = families.find(([pattern]) => pattern.test(id))?.[1]
  const isOwnArn = found === undefined && id.startsWith('arn:') && !id.includes(':foundation-model/')
  const family = found ?? (isOwnArn ? 'claude' : 'other')
  if (family !== 'claude') return { family, version: undefined, line: undefined }
  return { family, version: claudeVersion(id), line: /claude-(?:\d[\d-]*)?([a-z]{3,})/.exec(id)?.[1] }
}

/** Names say `claude-opus-4-5-20251101` or, before 4, `claude-3-5-sonnet-20241022`; a date is no version. */
function claudeVersion(id: string): number | undefined {
  if (/claude-(v2|instant)/.test(id)) return 200
  const found = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(id)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : undefined
}

/** True for a Claude that is surely of this version or a later one. */
export const isClaudeFrom = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version >= first

/** True for a Claude that is surely older than this version. */
export const isClaudeBefore = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version < first

/** The path of one of the model's operations, such as `converse`. ARNs hold colons and slashes. */
export const modelPath = (id: string, operation: string): string => `/model/${encodeURIComponent(id)}/${operation}`
