import Value from 'typebox/value'
import type { Agent } from '../../contract/agents.ts'
import { WebhookConfig } from '../../contract/webhooks.ts'
import { isSecretHeader } from './headers.ts'

/** Returns the `config.webhook` of an agent; undefined when it is invalid. */
export function settingsOf({ config }: Pick<Agent, 'config'>): WebhookConfig | undefined {
  const given = config['webhook'] ?? {}
  if (!Value.Check(WebhookConfig, given)) return undefined
  const { delivery_id_header: header } = given
  return header && isSecretHeader(header) ? undefined : given
}

/** Name of the vault entry with the token. Interface: Authentication, rule 9. */
export const tokenEntry = (agentId: string, settings: WebhookConfig | undefined): string =>
  settings?.secret_key ?? `WEBHOOK_${agentId}_SECRET`
