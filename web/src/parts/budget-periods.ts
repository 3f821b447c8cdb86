const periods = [
  { value: '1d', label: 'a day' },
  { value: '1w', label: 'a week' },
  { value: '1mo', label: 'a month' },
  { value: '30d', label: 'every 30 days' },
]
const never = { value: '', label: 'in total, never resets' }

/** Periods of a budget for a choice, with the current one when it is another. Empty: the budget never resets. */
export const periodsWith = (current: string) => {
  const isListed = current === '' || periods.some(({ value }) => value === current)
  return [...periods, ...(isListed ? [] : [{ value: current, label: `every ${current}` }]), never]
}
