import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** Parameters of the address after `?`, all as text. */
export type TextSearch = Readonly<Record<string, string | undefined>>

/** Reads the query of an address; empty values count as absent. */
export const parseSearch = (query: string): TextSearch =>
  Object.fromEntries([...new URLSearchParams(query)].filter(([, value]) => value !== ''))

/** Writes the query of an address without absent values. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const query = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return query === '' ? '' : `?${query}`
}

interface SetOptions {
  /** True adds an entry to the history of the browser, so that "back" undoes it. */
  readonly isStep?: boolean
}

/**
 * Returns parameters of the address and a function that changes some of them: filters, tabs and selections, so that a
 * reload, "back" and a copied link give the same view. Undefined removes a parameter. The parameters are those of the page
 * that is shown: the location has those of the next page while its code is still loading.
 */
export function useAddress<Name extends string>(): [
  Readonly<Partial<Record<Name, string>>>,
  (changes: Readonly<Partial<Record<Name, string | undefined>>>, options?: SetOptions) => void,
] {
  const current: object = useSearch({ strict: false })
  const navigate = useNavigate()
  const set = useCallback(
    (changes: Readonly<Partial<Record<Name, string | undefined>>>, { isStep = false }: SetOptions = {}) => {
      // The page stays: the router must not put its lists back to where they were before.
      const search = (before: object) => ({ ...before, ...changes })
      void navigate({ to: '.', search, replace: !isStep, resetScroll: false })
    },
    [navigate],
  )
  return [current as Readonly<Partial<Record<Name, string>>>, set]
}

/** Returns `value` when it is one of `allowed`, else the first of them. */
export const oneOf = <Value extends string>(value: string | undefined, allowed: readonly [Value, ...Value[]]): Value =>
  allowed.find(each => each === value) ?? allowed[0]
