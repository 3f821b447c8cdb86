import { createContext, use } from 'react'
import type { Cost } from './costs.ts'

/** Costs of model requests by the keys of their groups. Only the figures of requests read it. */
export const CostsContext = createContext<ReadonlyMap<string, Cost>>(new Map())

/** Returns the cost of a model request; undefined while it is not in the ledger. */
export const useCost = (groupKey: string): Cost | undefined => use(CostsContext).get(groupKey)
