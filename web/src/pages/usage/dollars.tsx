import { money } from '../../parts/format.ts'
import { exactDollars } from './figures.ts'

/** A rounded amount of the ledger, with all its digits on hover. */
export const Dollars = ({ usd }: { readonly usd: string | null }) => <span title={exactDollars(usd)}>{money(usd)}</span>
