import { useQuery } from '@tanstack/react-query'
import type { ShownApiKey } from '../../../../src/contract/keys.ts'
import { modelNames } from '../../data/lists.ts'
import { ConnectModels } from '../../parts/connect-blocks.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { matchesOf } from './key-draft.ts'
import { keyName } from './key-status.ts'

interface Props {
  readonly shown: ShownApiKey
  readonly onClose: () => void
}

/** Shows a new secret once, with commands that use it. */
export function KeySecret({ shown, onClose }: Props) {
  const { data: names = [] } = useQuery(modelNames)
  return (
    <SecretOnce what={`API key “${keyName(shown)}”`} secret={shown.key} onClose={onClose}>
      <ConnectModels model={firstModel(shown, names)} apiKey={shown.key} />
    </SecretOnce>
  )
}

/** Returns a model that the key may call, for the commands. */
function firstModel({ models }: ShownApiKey, names: readonly string[]): string {
  const allowed = models.length === 0 ? names : models.flatMap(entry => matchesOf(entry, names))
  return allowed.find(name => !name.includes('*')) ?? models.find(entry => !entry.endsWith('*')) ?? 'demo'
}
