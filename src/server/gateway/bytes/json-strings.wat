;; Where a string of a JSON text ends, 32 bytes a step: each bit of a mask stands for one of them. Which bytes an odd run of
;; backslashes escapes is found for all at once, by the carries of one subtraction (the method of simdjson).
(module
  ;; 1 for each byte that is a hexadecimal digit, at its code. The text stands behind this table.
  (memory (export "memory") 1)

  ;; The place behind the string whose first byte stands at $at; -1 when the text, which ends at $end, is no JSON.
  (func (export "stringEnd") (param $at i32) (param $end i32) (result i32)
    (local $first v128)
    (local $second v128)
    (local $backslashes i32)
    (local $codes i32)
    (local $escaped i32)
    ;; 1 when the first byte of the step is escaped.
    (local $carried i32)
    (local $quotes i32)
    ;; The bytes of the string in this step, without its quote.
    (local $inside i32)
    (local $unicode i32)
    (local $place i32)
    (loop $step
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const -1))))
      (local.set $first (v128.load (local.get $at)))
      (local.set $second (v128.load offset=16 (local.get $at)))

      (local.set $backslashes
        (i32.or
          (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x5c))))
          (i32.shl
            (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x5c))))
            (i32.const 16))))
      (local.set $quotes
        (i32.or
          (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x22))))
          (i32.shl
            (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x22))))
            (i32.const 16))))
      (local.set $escaped (i32.const 0))
      (if (i32.or (local.get $backslashes) (local.get $carried))
        (then
          ;; Backslashes that may begin an escape; behind each odd run the subtraction leaves its mark.
          (local.set $codes
            (i32.and (local.get $backslashes) (i32.xor (local.get $carried) (i32.const -1))))
          (local.set $codes
            (i32.xor
              (i32.sub
                (i32.or (i32.shl (local.get $codes) (i32.const 1)) (i32.const 0xaaaaaaaa))
                (local.get $codes))
              (i32.const 0xaaaaaaaa)))
          (local.set $escaped
            (i32.xor (local.get $codes) (i32.or (local.get $backslashes) (local.get $carried))))
          (local.set $carried
            (i32.shr_u (i32.and (local.get $codes) (local.get $backslashes)) (i32.const 31)))
          (local.set $quotes
            (i32.and (local.get $quotes) (i32.xor (local.get $escaped) (i32.const -1))))))
      ;; All bits below the first quote; all there are when there is none.
      (local.set $inside
        (i32.and
          (i32.xor (local.get $quotes) (i32.const -1))
          (i32.sub (local.get $quotes) (i32.const 1))))

      ;; Control characters must be escaped.
      (if
        (i32.and
          (local.get $inside)
          (i32.or
            (i8x16.bitmask (i8x16.lt_u (local.get $first) (i8x16.splat (i32.const 0x20))))
            (i32.shl
              (i8x16.bitmask (i8x16.lt_u (local.get $second) (i8x16.splat (i32.const 0x20))))
              (i32.const 16))))
        (then (return (i32.const -1))))

      (local.set $escaped (i32.and (local.get $escaped) (local.get $inside)))
      (if (local.get $escaped)
        (then
          ;; Each half of a byte is looked up: what may follow a backslash is in the class of both.
          (if
            (i32.and
              (local.get $escaped)
              (i32.or
                (i8x16.bitmask
                  (i8x16.eq
                    (v128.and
                      (i8x16.swizzle
                        (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1)
                        (v128.and (local.get $first) (i8x16.splat (i32.const 0x0f))))
                      (i8x16.swizzle
                        (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0)
                        (i8x16.shr_u (local.get $first) (i32.const 4))))
                    (i8x16.splat (i32.const 0))))
                (i32.shl
                  (i8x16.bitmask
                    (i8x16.eq
                      (v128.and
                        (i8x16.swizzle
                          (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1)
                          (v128.and (local.get $second) (i8x16.splat (i32.const 0x0f))))
                        (i8x16.swizzle
                          (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0)
                          (i8x16.shr_u (local.get $second) (i32.const 4))))
                      (i8x16.splat (i32.const 0))))
                  (i32.const 16))))
            (then (return (i32.const -1))))
          (local.set $unicode
            (i32.and
              (local.get $escaped)
              (i32.or
                (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x75))))
                (i32.shl
                  (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x75))))
                  (i32.const 16)))))
          (block $checked
            (loop $digits
              (br_if $checked (i32.eqz (local.get $unicode)))
              (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $unicode))))
              (if
                (i32.eqz
                  (i32.and
                    (i32.and
                      (i32.load8_u (i32.load8_u offset=1 (local.get $place)))
                      (i32.load8_u (i32.load8_u offset=2 (local.get $place))))
                    (i32.and
                      (i32.load8_u (i32.load8_u offset=3 (local.get $place)))
                      (i32.load8_u (i32.load8_u offset=4 (local.get $place))))))
                (then (return (i32.const -1))))
              (local.set $unicode
                (i32.and (local.get $unicode) (i32.sub (local.get $unicode) (i32.const 1))))
              (br $digits)))))

      (if (local.get $quotes)
        (then
          (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $quotes))))
          (return
            (select
              (i32.add (local.get $place) (i32.const 1))
              (i32.const -1)
              (i32.lt_u (local.get $place) (local.get $end))))))
      (local.set $at (i32.add (local.get $at) (i32.const 32)))
      (br $step))
    (unreachable)))
