import { createHash } from 'node:crypto'
import type { conversationPresets } from '../../contract/webhook-presets.ts'
import { filledTemplate, textOfValue, valueAt } from './template.ts'

/** Templates by preset; the first whose fields all exist names the conversation. */
const presets: Readonly<Record<(typeof conversationPresets)[number], readonly string[]>> = {
  'github-issue': [
    '{{repository.full_name}}#{{issue.number}}',
    '{{repository.full_name}}#{{pull_request.number}}',
    '{{repository.full_name}}#{{discussion.node_id}}',
  ],
  // A note refers to its issue or merge request; their own events use `object_attributes`.
  'gitlab-issue': [
    '{{project.id}}:issue:{{issue.iid}}',
    '{{project.id}}:merge_request:{{merge_request.iid}}',
    '{{project.id}}:{{object_kind}}:{{object_attributes.iid}}',
  ],
  // A comment refers to its issue; an issue event has its own id.
  'linear-issue': ['{{data.issue.id}}', '{{data.issueId}}', '{{data.id}}'],
  'slack-thread': ['{{team_id}}/{{event.channel}}/{{event.thread_ts}}', '{{team_id}}/{{event.channel}}/{{event.ts}}'],
}

/** Returns the name that all deliveries of an issue or thread share; undefined when the delivery belongs to none. */
export function conversationOf(setting: string | null | undefined, payload: unknown): string | undefined {
  if (!setting) return undefined
  const texts = Object.hasOwn(presets, setting) ? presets[setting as keyof typeof presets] : [setting]
  for (const text of texts) {
    const found = text.includes('{{') ? filledOrUndefined(text, payload) : textOfValue(valueAt(payload, text))
    if (found !== undefined && found.trim() !== '') return found
  }
  return undefined
}

/** In characters. A delivery with a longer name is not part of a conversation. */
const maxNameLength = 100_000

/** Returns undefined when a field is missing: a partial name would join unrelated deliveries. */
function filledOrUndefined(text: string, payload: unknown): string | undefined {
  const fields = new Set([...text.matchAll(/\{\{\s*([^{}\s]+)\s*\}\}/g)].map(([, path = '']) => path))
  return [...fields].every(path => textOfValue(valueAt(payload, path)) !== '')
    ? filledTemplate(text, payload, maxNameLength)
    : undefined
}

/** Key in the table: names can be long and contain private data. */
export const hashOfConversation = (name: string): Buffer => createHash('sha256').update(name).digest()
