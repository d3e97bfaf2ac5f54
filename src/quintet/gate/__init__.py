"""Gates: do scores clear their limits, and have they dropped since a baseline?"""
