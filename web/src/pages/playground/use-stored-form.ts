import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { isRecord, parseJson } from '../../data/json.ts'
import { useMe } from '../../data/sign-in.tsx'
import { emptyForm, type PlaygroundForm } from './wire/form.ts'

/** The form of this tab, which a reload keeps. */
export interface StoredForm {
  readonly form: PlaygroundForm
  readonly set: (form: PlaygroundForm) => void
  readonly edit: (changes: Partial<PlaygroundForm>) => void
  /** True when the form is too large for the storage of the tab. */
  readonly isTooLarge: boolean
}

const saveAfterMs = 300

/** Keeps the form in the storage of the tab, apart for each person who signs in. */
export function useStoredForm(): StoredForm {
  const { principal } = useMe()
  const key = `switchyard-playground:${principal}`
  const [form, setForm] = useState(() => read(key))
  const [isTooLarge, setTooLarge] = useState(false)
  const save = useDebouncedCallback((next: PlaygroundForm) => setTooLarge(!write(key, next)), {
    delay: saveAfterMs,
    flushOnUnmount: true,
  })
  useEffect(() => save(form), [form, save])
  return { form, set: setForm, edit: changes => setForm(before => ({ ...before, ...changes })), isTooLarge }
}

function read(key: string): PlaygroundForm {
  const stored = parseJson(sessionStorage.getItem(key) ?? '').value
  if (!isRecord(stored) || !Array.isArray(stored['turns'])) return emptyForm
  // Absent numbers are null in the stored text.
  const found = Object.entries(stored).map(([name, value]) => [name, value === null ? undefined : value])
  return { ...emptyForm, ...Object.fromEntries(found) }
}

/** Returns false when the storage has no room. */
function write(key: string, form: PlaygroundForm): boolean {
  try {
    sessionStorage.setItem(
      key,
      JSON.stringify(form, (_, value) => (value === undefined ? null : value)),
    )
    return true
  } catch {
    sessionStorage.removeItem(key)
    return false
  }
}
