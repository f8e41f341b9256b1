package config

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is a field of a section: its tags and its value.
type setting struct {
	section, name, help, def, note string
	tag                            reflect.StructTag
	value                          reflect.Value
}

// settings returns the settings of c in the order of the fields. Setting a value changes c.
func settings(c *Config) []setting {
	var all []setting
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		section := v.Field(i)
		if v.Type().Field(i).Tag.Get("title") == "-" {
			continue
		}
		for j := range section.NumField() {
			tag := section.Type().Field(j).Tag
			all = append(all, setting{
				section: v.Type().Field(i).Tag.Get("title"), name: tag.Get("name"), help: tag.Get("help"),
				def: tag.Get("default"), note: tag.Get("defaultnote"), tag: tag, value: section.Field(j),
			})
		}
	}
	return all
}

// variable returns the environment variable of the setting: the tag env, or by default a name derived from that of the setting.
func (s setting) variable() string {
	if env := s.tag.Get("env"); env != "" {
		return env
	}
	return "SLUICE_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// set parses the texts into the value. A list takes all texts, other types take the last one.
func (s setting) set(texts []string) error {
	if s.isList() {
		var list []string
		for _, text := range texts {
			if split := s.tag.Get("split"); split != "" && text != "" {
				for part := range strings.SplitSeq(text, split) {
					list = append(list, strings.TrimSpace(part))
				}
			} else {
				list = append(list, text)
			}
		}
		s.value.Set(reflect.ValueOf(list))
		return nil
	}
	v, err := s.parse(texts[len(texts)-1])
	if err != nil {
		return err
	}
	s.value.Set(reflect.ValueOf(v))
	return nil
}

func (s setting) isList() bool { return s.value.Kind() == reflect.Slice }

// parse parses a text as the type of the setting.
func (s setting) parse(text string) (any, error) {
	switch s.value.Interface().(type) {
	case string:
		return text, nil
	case Secret:
		return Secret(text), nil
	case bool:
		switch text {
		case "true", "false":
			return text == "true", nil
		}
		return nil, fmt.Errorf("must be true or false, not %q", text)
	case Size:
		return ParseSize(text)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("must be a whole number, not %q", text)
		}
		return n, nil
	case float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("must be a number such as 0.5, not %q", text)
		}
		return x, nil
	case time.Duration:
		if never := s.tag.Get("never"); never != "" && text == never {
			return Never, nil
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("must be a duration such as 30s or 1h30m, not %q", text)
		}
		return d, nil
	}
	panic(fmt.Sprintf("config: %s has an unsupported type: %s", s.name, s.value.Type()))
}

// check returns an error if the value is invalid.
func (s setting) check() error {
	switch v := s.value.Interface().(type) {
	case []string:
		if slices.Contains(v, "") {
			return errors.New("must not be empty")
		}
		for _, text := range v {
			if s.tag.Get("split") == "" {
				break // any text is valid, such as a path
			}
			if err := s.checkText(text); err != nil {
				return err
			}
		}
		return nil
	case string:
		return s.checkText(v)
	case Size:
		return s.checkRange(int64(v), v.String())
	case time.Duration:
		if v == Never && s.tag.Get("never") != "" {
			return nil
		}
		return s.checkRange(int64(v), v.String())
	case int:
		return s.checkRange(int64(v), strconv.Itoa(v))
	case float64:
		return s.checkFraction(v)
	}
	return nil
}

// checkFraction checks a number that must be in the range of the tags min and max.
func (s setting) checkFraction(v float64) error {
	least, most := s.tag.Get("min"), s.tag.Get("max")
	if v >= mustFloat(least) && v <= mustFloat(most) { // false for NaN
		return nil
	}
	return fmt.Errorf("must be from %s to %s, not %v", least, most, v)
}

func mustFloat(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("config: " + err.Error())
	}
	return x
}

func (s setting) checkText(v string) error {
	if _, optional := s.tag.Lookup("optional"); optional && v == "" {
		return nil
	}
	if v == "" {
		if s.name == "data" {
			return errors.New("must be set, because the user has no home directory")
		}
		return errors.New("must not be empty")
	}
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		if _, secret := s.tag.Lookup("secret"); secret {
			return errors.New("must not contain control characters")
		}
		return fmt.Errorf("must not contain control characters: %q", v)
	}
	if most := s.tag.Get("maxlen"); most != "" && len(v) > mustInt(most) {
		return fmt.Errorf("must be at most %s bytes long, not %d", most, len(v))
	}
	if choices := s.tag.Get("oneof"); choices != "" && !slices.Contains(strings.Split(choices, ","), v) {
		return fmt.Errorf("must be one of %s, not %q", strings.ReplaceAll(choices, ",", ", "), v)
	}
	if s.name == "addr" {
		return checkAddr(v)
	}
	return nil
}

// checkRange returns an error if v is not between the tags min and max.
func (s setting) checkRange(v int64, text string) error {
	low, high := s.tag.Get("min"), s.tag.Get("max")
	if v >= s.bound(low) && v <= s.bound(high) {
		return nil
	}
	if never := s.tag.Get("never"); never != "" {
		return fmt.Errorf("must be from %s to %s, or %s, not %s", low, high, never, text)
	}
	return fmt.Errorf("must be from %s to %s, not %s", low, high, text)
}

func (s setting) bound(text string) int64 {
	v, err := s.parse(text)
	if err != nil {
		panic("config: bound of " + s.name + ": " + err.Error())
	}
	return reflect.ValueOf(v).Int()
}

func checkAddr(v string) error {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("must be host:port, such as 127.0.0.1:8000, not %q", v)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port must be from 0 to 65535, not %q", port)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("port must be a plain number, not %q", port)
	}
	return nil
}

func mustInt(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("config: " + err.Error())
	}
	return n
}
