import { useLocalStorage } from '@mantine/hooks'

/** Whether single letters act as shortcuts; a person can switch them off. */
export function useLetterKeys(): [boolean, (isOn: boolean) => void] {
  const [value, setValue] = useLocalStorage({
    key: 'switchyard-letter-keys',
    defaultValue: 'on',
    getInitialValueInEffect: false,
  })
  return [value !== 'off', isOn => setValue(isOn ? 'on' : 'off')]
}
