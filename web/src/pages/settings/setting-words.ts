import type { Setting } from '../../../../src/contract/settings.ts'

export const sourceWords = {
  file: 'configuration file',
  environment: 'environment',
  option: 'command line',
  default: 'default',
} as const satisfies Record<Setting['source'], string>

/** Value of a setting as text; of a secret only whether it is set. */
export function valueWords({
  value,
  is_secret: isSecret,
  is_set: isSet,
}: Pick<Setting, 'value' | 'is_secret' | 'is_set'>) {
  if (isSecret) return isSet ? 'set (secret)' : 'not set'
  if (value === null || value === undefined) return 'not set'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the settings whose name or value contains the text; without defaults if `isChanged`. */
export const matching = (
  settings: readonly Setting[],
  { q = '', isChanged }: { readonly q?: string | undefined; readonly isChanged: boolean },
): readonly Setting[] =>
  settings.filter(
    setting =>
      (!isChanged || setting.source !== 'default') &&
      `${setting.name} ${valueWords(setting)}`.toLowerCase().includes(q.toLowerCase()),
  )
