import { createHash } from 'node:crypto'
import type { conversationPresets } from '../../contract/webhooks.ts'
import { filledTemplate, textOfValue, valueAt } from './template.ts'

/** For each kind the texts to try; the first whose fields are all there names the conversation. */
const presets: Readonly<Record<(typeof conversationPresets)[number], readonly string[]>> = {
  'github-issue': [
    '{{repository.full_name}}#{{issue.number}}',
    '{{repository.full_name}}#{{pull_request.number}}',
    '{{repository.full_name}}#{{discussion.node_id}}',
  ],
  // A note names what it is about; an issue or a merge request is one itself.
  'gitlab-issue': [
    '{{project.id}}:issue:{{issue.iid}}',
    '{{project.id}}:merge_request:{{merge_request.iid}}',
    '{{project.id}}:{{object_kind}}:{{object_attributes.iid}}',
  ],
  // A comment names its issue; an issue is one itself.
  'linear-issue': ['{{data.issue.id}}', '{{data.issueId}}', '{{data.id}}'],
  'slack-thread': ['{{team_id}}/{{event.channel}}/{{event.thread_ts}}', '{{team_id}}/{{event.channel}}/{{event.ts}}'],
}

/** What a delivery has in common with others of its issue or thread; undefined when it belongs to none. */
export function conversationOf(setting: string | null | undefined, payload: unknown): string | undefined {
  if (!setting) return undefined
  const texts = Object.hasOwn(presets, setting) ? presets[setting as keyof typeof presets] : [setting]
  for (const text of texts) {
    const found = text.includes('{{') ? filledOrNothing(text, payload) : textOfValue(valueAt(payload, text))
    if (found !== undefined && found.trim() !== '') return found
  }
  return undefined
}

/** In characters. A longer name belongs to no conversation. */
const longestName = 100_000

/** Half a name would join what does not belong together. */
function filledOrNothing(text: string, payload: unknown): string | undefined {
  const fields = new Set([...text.matchAll(/\{\{\s*([^{}\s]+)\s*\}\}/g)].map(([, path = '']) => path))
  return [...fields].every(path => textOfValue(valueAt(payload, path)) !== '')
    ? filledTemplate(text, payload, longestName)
    : undefined
}

/** How the table has it: names can be long, and hold what is nobody's business. */
export const hashOfConversation = (name: string): Buffer => createHash('sha256').update(name).digest()
