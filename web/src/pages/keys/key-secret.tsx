import type { ShownApiKey } from '../../../../src/contract/keys.ts'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { keyName } from './key-status.ts'

interface Props {
  readonly shown: ShownApiKey
  readonly onClose: () => void
}

/** Shows a new secret once, with commands that use it. */
export function KeySecret({ shown, onClose }: Props) {
  return <SecretOnce what={`API key “${keyName(shown)}”`} secret={shown.key} onClose={onClose} />
}
